import { mkdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modesIn, settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { Database } from './database.ts'
import { openPrivately } from './private-file.ts'

/** Windows has no modes. */
const withModes = { skip: process.platform === 'win32' }

test('a new file is for its owner alone, and so are those beside it', withModes, () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path))

  const modes = modesIn(file.folder)
  database.close()

  expect(modes).toEqual({ 'test.db': '600', 'test.db-wal': '600', 'test.db-shm': '600' })
})

test('no other user can read a new file at any moment', withModes, () => {
  using file = tempFile()

  const mode = openPrivately(file.path, () => statSync(file.path).mode)

  expect(mode & 0o777).toBe(0o600)
})

test('a file behind a link is made for its owner alone', withModes, () => {
  using file = tempFile()
  const elsewhere = join(file.folder, 'elsewhere')
  mkdirSync(elsewhere)
  symlinkSync(join(elsewhere, 'real.db'), file.path)

  new Database(settingsFor(file.path)).close()

  expect(modesIn(elsewhere)).toEqual({ 'real.db': '600' })
})
