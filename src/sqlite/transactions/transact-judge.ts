import type { Transact } from '../../store/transactions.ts'
import { isAttempt } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { send } from '../operations/inbox.ts'
import { finishTasks } from '../operations/task-results.ts'
import { findTask } from '../operations/tasks.ts'

/** What a transaction is judged on. */
export type Judged = Omit<Transact, 'code'>

const RESULT = 'select 1 from inbox where iid = ? and execution = ? and command = ?'
const TURN = 'select 1 from history where iid = ? and execution = ? and turn = ?'
const OWNED = 'select 1 from runs where iid = ? and owner = ? and epoch = ? and held = 0'

/**
 * Whether the result of a transaction would be accepted: its runtime owns the instance at this
 * epoch, or the task at this attempt, and there is no result yet.
 *
 * There is one writer at a time, so what is found when the transaction begins is true until its
 * end.
 */
export function mayTransact(tx: Transaction, work: Judged): boolean {
  const { runtime, iid, execution, command, by } = work
  if (tx.sql(RESULT).get(iid, execution, command) !== undefined) return false
  if ('attempt' in by) return isAttempt(findTask(tx, work), runtime, by)
  if (tx.sql(OWNED).get(iid, runtime, by.epoch) === undefined) return false
  return tx.sql(TURN).get(iid, execution, by.turn) !== undefined
}

/** Puts the result into the inbox of the instance, and removes the task if there is one. */
export function storeResult(tx: Transaction, work: Judged, payload: string): void {
  const { runtime, iid, execution, command, by } = work
  const key = { iid, execution, command }
  if ('epoch' in by) send(tx, [{ ...key, kind: 'completed', payload }])
  else {
    const end = { kind: 'completed', payload } as const
    finishTasks(tx, runtime, [{ ...key, ...by, end }])
  }
}
