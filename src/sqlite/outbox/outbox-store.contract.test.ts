import { describe, expect, test } from 'vitest'
import { openSqliteOutbox } from '../../../test/support/outbox-under-test.ts'
import { describeOutboxStore } from '../../testing/outbox-store-contract.ts'
import { type DriverName, openDriver } from '../connect/driver.ts'

const DRIVERS: readonly DriverName[] = ['node:sqlite', 'better-sqlite3']

for (const driver of DRIVERS.filter(isThere)) {
  describeOutboxStore(
    `SQLite file, ${driver}`,
    () => openSqliteOutbox({ driver }),
    { describe, expect, test },
    { canOverlap: false },
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
