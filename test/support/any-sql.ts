import type { Transaction } from '../../src/sqlite/file/database.ts'
import type { Value } from '../../src/sqlite/connect/driver.ts'

/** Runs any one statement; answers its rows, if it returns some. */
export function anySql(tx: Transaction, text: string, ...values: Value[]): readonly unknown[] {
  const returns = /^\s*select\b|\breturning\b/i.test(text)
  if (returns) return tx.sql(text).all(...values)
  tx.sql(text).run(...values)
  return []
}
