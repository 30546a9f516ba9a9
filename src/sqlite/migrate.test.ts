import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { settingsFor, tempFile } from '../../test/support/sqlite.ts'
import { Database } from './database.ts'
import { openDriver } from './driver.ts'

/** Makes a file with another tool. */
function prepare(path: string, sql: string): void {
  const driver = openDriver(path, undefined)
  driver.exec(sql)
  driver.close()
}

function server(path: string): string {
  const database = new Database(settingsFor(path))
  const found = database.read('test', 0, (tx) => tx.server)
  database.close()
  return found
}

test('a new file gets the schema, our mark and a number', () => {
  using file = tempFile()

  new Database(settingsFor(file.path)).close()

  const driver = openDriver(file.path, undefined)
  expect(driver.prepare('pragma application_id').get()).toMatchObject({
    application_id: 0x48465354,
  })
  expect(driver.prepare('pragma user_version').get()).toMatchObject({ user_version: 1 })
  expect(driver.prepare('select count(*) as count from instances').get()).toEqual({ count: 0 })
  driver.close()
})

test('a file keeps its identity, and two files never share one', () => {
  using file = tempFile()
  using other = tempFile()

  const first = server(file.path)

  expect(first).toMatch(/^[\da-f]{32}$/)
  expect(server(file.path)).toBe(first)
  expect(server(other.path)).not.toBe(first)
})

test('an empty file is as good as none', () => {
  using file = tempFile()
  writeFileSync(file.path, '')

  expect(server(file.path)).toMatch(/^[\da-f]{32}$/)
})

test('a schema from the future is refused', () => {
  using file = tempFile()
  new Database(settingsFor(file.path)).close()
  prepare(file.path, 'pragma user_version = 99')

  expect(() => new Database(settingsFor(file.path))).toThrow(
    expect.objectContaining({
      code: 'newer_schema',
      message: `sqlite open: ${file.path} has schema 99, this version of holdfast knows 1`,
    }),
  )
})

test.each([
  ['with tables', 'create table guests (name text)', 0],
  ['with a version', 'pragma user_version = 3', 0],
  ['with a mark', 'pragma application_id = 252006675', 252_006_675],
])('a database of another application %s is refused, and not touched', (_, sql, id) => {
  using file = tempFile()
  prepare(file.path, sql)
  const before = readFileSync(file.path)

  expect(() => new Database(settingsFor(file.path))).toThrow(
    expect.objectContaining({
      code: 'misconfigured',
      message: `sqlite open: ${file.path} is a database of another application (application_id ${id})`,
    }),
  )
  expect(readFileSync(file.path).equals(before)).toBe(true)
})

test('a file that is no database is refused, and not touched', () => {
  using file = tempFile()
  writeFileSync(file.path, 'Dear diary, '.repeat(100))

  expect(() => new Database(settingsFor(file.path))).toThrow(
    expect.objectContaining({ code: 'misconfigured' }),
  )
  expect(readFileSync(file.path, 'utf8')).toBe('Dear diary, '.repeat(100))
})
