import type { Transaction } from '../file/database.ts'
import type { Statement } from '../connect/driver.ts'

/** By a statement that each connection has of its own. */
const known = new WeakMap<Statement, string>()

/** Where the file is that a transaction is on; `undefined` for one in memory. */
export function fileOf(tx: Transaction): string | undefined {
  const statement = tx.sql('pragma database_list')
  let path = known.get(statement)
  if (path === undefined) {
    path = (statement.get() as { file: string | null }).file ?? ''
    known.set(statement, path)
  }
  return path === '' ? undefined : path
}
