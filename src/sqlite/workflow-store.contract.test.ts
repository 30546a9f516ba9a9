import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'
import { type DriverName, openDriver } from './connect/driver.ts'

const DRIVERS: readonly DriverName[] = ['node:sqlite', 'better-sqlite3']

for (const driver of DRIVERS.filter(isThere)) {
  describeWorkflowStore(`SQLite file, ${driver}`, () => openSqlite({ driver }), {
    describe,
    expect,
    test,
  })
  // The same code in the same thread: that takes as long again, and the engine is tried on it anyway.
  if (process.env['HOLDFAST_STORES'] !== 'all') continue
  describeWorkflowStore(
    `SQLite in memory, ${driver}`,
    () => openSqlite({ driver, path: ':memory:' }),
    { describe, expect, test },
  )
}

test('there is a driver to run the suite with', () => {
  expect(DRIVERS.filter(isThere)).not.toEqual([])
})

function isThere(driver: DriverName): boolean {
  try {
    openDriver(':memory:', driver).close()
    return true
  } catch {
    // Not in this version of Node, or compiled for another one.
    return false
  }
}
