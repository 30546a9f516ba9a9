import { describe, expect, test } from 'vitest'
import { tempFile } from '../../test/support/sqlite.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../store/store.ts'
import type { SqliteOptions } from './connect/options.ts'
import { sqlite } from './sqlite.ts'

const opened = (options: SqliteOptions) => (sqlite(options) as StoreHandle)[OPEN_WORKFLOW_STORE]

test('stores of one handle share a database, also in memory, until the last is closed', async () => {
  const make = opened({ path: ':memory:' })
  const [a, b] = [make(), make()]

  expect(await a.reserve(10)).toBe(1)
  expect(await b.reserve(10)).toBe(11)
  await a.close()
  await expect(a.reserve(10)).rejects.toMatchObject({ code: 'closed' })
  expect(await b.reserve(10)).toBe(21)
  await b.close()

  const c = make()
  expect(await c.reserve(10)).toBe(1)
  await c.close()
})

test('the first store that opens a file creates it', async () => {
  using file = tempFile()
  const store = opened({ path: file.path, durability: 'os' })()

  await store.open()
  await store.open()

  expect(store.kind).toBe('sqlite')
  await store.close()
})

describe('invalid options', () => {
  test.each([
    [{}, 'sqlite: path is missing'],
    [{ path: '' }, 'sqlite: path must be the path of a file, got ""'],
    [{ path: 7 }, 'sqlite: path must be the path of a file, got 7'],
    [
      { path: 'a', durability: 'none' },
      `sqlite: durability must be one of 'fsync', 'os', got "none"`,
    ],
    [
      { path: 'a', driver: 'sqlite3' },
      `sqlite: driver must be one of 'node:sqlite', 'better-sqlite3', got "sqlite3"`,
    ],
    [
      { path: 'a', durabilty: 'os' },
      'sqlite: unknown option "durabilty", did you mean "durability"?',
    ],
  ])('%j are refused', (options, message) => {
    expect(() => sqlite(options as SqliteOptions)).toThrow(message)
  })
})
