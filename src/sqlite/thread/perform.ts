import type { Database, Transaction } from '../file/database.ts'
import type { Operation } from '../file/operation.ts'
import { type OperationName, OPERATIONS } from './table.ts'

/** Runs an operation of the table, in a transaction of its own. */
export function perform(
  database: Database,
  operation: OperationName,
  args: readonly unknown[],
  clockOffsetMs: number,
  busyMs?: number,
): unknown {
  const wanted = OPERATIONS[operation] as Operation<unknown[], unknown>
  const name = `sqlite ${operation}`
  const work = (tx: Transaction): unknown => wanted.run(tx, ...args)
  if (wanted.mode === 'read') return database.read(name, clockOffsetMs, work)
  return database.write(name, clockOffsetMs, work, wanted.isDurable?.(...args), busyMs)
}

/** Whether an operation of the table writes. */
export function isWrite(operation: string): operation is OperationName {
  return operation in OPERATIONS && OPERATIONS[operation as OperationName].mode === 'write'
}
