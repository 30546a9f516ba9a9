// The thread of the SQLite store with one operation more, which runs any SQL: tests reach behind the
// port with it, also into a database in memory.
import type { Transaction } from '../../src/sqlite/database.ts'
import type { Value } from '../../src/sqlite/driver.ts'
import { OPERATIONS } from '../../src/sqlite/operations/table.ts'

function sql(tx: Transaction, text: string, ...values: Value[]): readonly unknown[] {
  const returns = /^\s*select\b|\breturning\b/i.test(text)
  if (returns) return tx.sql(text).all(...values)
  tx.sql(text).run(...values)
  return []
}

Object.assign(OPERATIONS, { sql: { mode: 'write', run: sql } })

// Only now, when the operation is there, does it begin to listen.
import('../../src/sqlite/thread-main.ts').catch((error: unknown) => {
  throw error
})
