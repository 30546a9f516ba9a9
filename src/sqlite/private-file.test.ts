import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openQueue } from '../../src/queue/index.ts'
import { settingsFor, tempFile } from '../../test/support/sqlite.ts'
import { Database } from './database.ts'

/** Windows has no modes. */
const withModes = { skip: process.platform === 'win32' }

/** The modes of all files in a folder, by name. */
function modesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder)
  return Object.fromEntries(
    names.map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  )
}

test('a new file is for its owner alone, and so are those beside it', withModes, () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path))

  const modes = modesIn(file.folder)
  database.close()

  expect(modes).toEqual({ 'test.db': '600', 'test.db-wal': '600', 'test.db-shm': '600' })
})

test('the files of a queue are for its owner alone', withModes, async () => {
  using file = tempFile()
  await using queue = await openQueue<string>(file.path)
  await queue.push('secret')

  expect(modesIn(file.folder)).toEqual({
    'test.db': '600',
    'test.db-wal': '600',
    'test.db-shm': '600',
    'test.db-user-1': '600',
  })
})

test('a file that is there keeps its mode, which the others get', withModes, async () => {
  using file = tempFile()
  writeFileSync(file.path, '')
  chmodSync(file.path, 0o664)
  await using queue = await openQueue<string>(file.path)
  await queue.push('shared')

  expect(modesIn(file.folder)).toEqual({
    'test.db': '664',
    'test.db-wal': '664',
    'test.db-shm': '664',
    'test.db-user-1': '664',
  })
})

test('a file behind a link is made for its owner alone', withModes, () => {
  using file = tempFile()
  const elsewhere = join(file.folder, 'elsewhere')
  mkdirSync(elsewhere)
  symlinkSync(join(elsewhere, 'real.db'), file.path)

  new Database(settingsFor(file.path)).close()

  expect(modesIn(elsewhere)).toEqual({ 'real.db': '600' })
})
