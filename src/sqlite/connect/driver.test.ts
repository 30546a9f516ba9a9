import { describe, expect, test } from 'vitest'
import { type DriverName, openDriver } from './driver.ts'

const BUILT_IN = process.getBuiltinModule('node:sqlite') !== undefined

const DRIVERS: readonly DriverName[] = ['better-sqlite3', 'node:sqlite']

/** Whether a driver can be tried here. Where it is the only one, it must be there. */
function isThere(name: DriverName): boolean {
  if (name === 'node:sqlite' || !BUILT_IN) return name === 'better-sqlite3' || BUILT_IN
  try {
    openDriver(':memory:', name).close()
    return true
  } catch {
    // It was compiled for the version of Node that installed it, not for the one that runs.
    return false
  }
}

describe.each(DRIVERS)('the driver over %s', (name) => {
  const available = isThere(name)

  test.runIf(available).each([
    ['a whole number', 7],
    ['the largest safe number', Number.MAX_SAFE_INTEGER],
    ['the smallest safe number', Number.MIN_SAFE_INTEGER],
    ['nothing', null],
    ['an empty text', ''],
    ['a text that looks like a number', '007'],
    ['a text with separators', 'a\x1eb\x1fc'],
    ['a text beyond the first plane', '𝔘nicode ☃ \u2028'],
  ])('it keeps %s', (_, value) => {
    const driver = openDriver(':memory:', name)
    const type = typeof value === 'number' ? 'integer' : 'text'
    driver.exec(`create table t (x ${type}) strict`)
    driver.prepare('insert into t values (?)').run(value)

    const row = driver.prepare('select x, typeof(x) as type from t').get() as object

    expect({ ...row }).toEqual({ x: value, type: value === null ? 'null' : type })
    driver.close()
  })

  test.runIf(available)('it counts changes, returns all rows, and undefined for none', () => {
    const driver = openDriver(':memory:', name)
    driver.exec('create table t (x integer) strict; insert into t values (1), (2), (3)')

    expect(driver.prepare('update t set x = x + 1 where x > ?').run(1)).toBe(2)
    const rows = driver.prepare('select x from t order by x').all() as { x: number }[]
    expect(rows.map(({ x }) => x)).toEqual([1, 3, 4])
    expect(driver.prepare('select x from t where x = ?').get(9)).toBeUndefined()
    driver.close()
  })

  test.runIf(available)(
    'it returns rows as arrays, and objects from the same statement afterwards',
    () => {
      const driver = openDriver(':memory:', name)
      driver.exec(
        "create table t (y text, x integer) strict; insert into t values ('a', 1), (null, 2)",
      )
      const statement = driver.prepare('select y, x from t where x < ? order by x')

      expect(statement.lists(9)).toEqual([
        ['a', 1],
        [null, 2],
      ])
      expect({ ...(statement.get(9) as object) }).toEqual({ y: 'a', x: 1 })
      expect(statement.lists(0)).toEqual([])
      driver.close()
    },
  )

  test.runIf(available)('a statement with `returning` returns its rows', () => {
    const driver = openDriver(':memory:', name)
    driver.exec('create table t (x integer primary key autoincrement, y text) strict')

    const row = driver.prepare('insert into t (y) values (?) returning x').get('a') as object

    expect({ ...row }).toEqual({ x: 1 })
    driver.close()
  })
})

test('without a name there is a driver on every runtime the tests run on', () => {
  const driver = openDriver(':memory:', undefined)

  expect(driver.prepare('select 1 as one').get()).toMatchObject({ one: 1 })
  driver.close()
})

test.skipIf(BUILT_IN)('a driver that the runtime lacks is refused with what to install', () => {
  expect(() => openDriver(':memory:', 'node:sqlite')).toThrow(
    expect.objectContaining({
      code: 'misconfigured',
      message: expect.stringMatching(
        /^sqlite: Node v[\d.]+ has no node:sqlite; use Node 22.13 or later, or `npm install better-sqlite3@12`$/,
      ),
    }),
  )
})
