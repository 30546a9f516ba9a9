import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'
import type { DriverName } from './driver.ts'

const DRIVERS: readonly DriverName[] = ['node:sqlite', 'better-sqlite3']

for (const driver of DRIVERS.filter(isThere)) {
  describeWorkflowStore(`SQLite file, ${driver}`, () => openSqlite({ driver }), {
    describe,
    expect,
    test,
  })
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
    createRequire(import.meta.url)(driver)
    return true
  } catch {
    return false
  }
}
