import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { Database } from './database.ts'

/** What opening a file there says. */
function refusalOf(path: string): unknown {
  try {
    new Database(settingsFor(path)).close()
    return undefined
  } catch (error) {
    return error
  }
}

const refused = (path: string, why: string) =>
  expect.objectContaining({
    code: 'misconfigured',
    message: `sqlite open: cannot open ${path}: ${why}`,
  })

test('a folder that does not exist is named', () => {
  using file = tempFile()
  const path = join(file.folder, 'missing', 'test.db')

  const why = `there is no folder ${join(file.folder, 'missing')}; create it first`
  expect(refusalOf(path)).toEqual(refused(path, why))
})

test('a folder in place of the file is named, and a file in place of the folder', () => {
  using file = tempFile()
  mkdirSync(file.path)
  const other = join(file.folder, 'other')
  writeFileSync(other, '')
  const inside = join(other, 'test.db')

  expect(refusalOf(file.path)).toEqual(refused(file.path, 'it is a folder, not a file'))
  expect(refusalOf(inside)).toEqual(refused(inside, `${other} is a file, not a folder`))
})

test('a file that is not a database is named', () => {
  using file = tempFile()
  writeFileSync(file.path, 'some text that is no database at all\n'.repeat(40))

  const why = 'it is not an SQLite database; name another file'
  expect(refusalOf(file.path)).toEqual(refused(file.path, why))
})

test('broken links are named', () => {
  using file = tempFile()
  const loop = join(file.folder, 'loop')
  symlinkSync(loop, loop)
  symlinkSync(join(file.folder, 'gone', 'test.db'), file.path)

  expect(refusalOf(loop)).toMatchObject({
    code: 'misconfigured',
    message: expect.stringContaining(`cannot open ${loop}: ELOOP`),
  })
  const why = 'it may be a broken symbolic link'
  expect(refusalOf(file.path)).toEqual(refused(file.path, why))
  expect(readdirSync(file.folder).toSorted()).toEqual(['loop', 'test.db'])
})

test('a folder that is not writable is named, with the user', () => {
  using file = tempFile()
  chmodSync(file.folder, 0o555)
  // Root may write anywhere.
  const isRoot = process.geteuid!() === 0
  if (isRoot) process.seteuid!(65_534)
  const user = process.geteuid!()

  const refusal = refusalOf(file.path)

  if (isRoot) process.seteuid!(0)
  chmodSync(file.folder, 0o755)
  const why = `this process (user id ${user}) is not allowed to write to ${file.folder}, where SQLite keeps more files beside it (EACCES)`
  expect(refusal).toEqual(refused(file.path, why))
})
