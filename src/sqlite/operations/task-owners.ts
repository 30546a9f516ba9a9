import type { Iid } from '../../store/instances.ts'
import type { TaskAttempt } from '../../store/tasks.ts'
import { isAttempt } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { freeSessionsOf } from './task-sessions.ts'
import { findTask } from './tasks.ts'

const FREE = `
update tasks
set held_by = null, beat_until = null, deaths = deaths + ?, attempts = max(attempts - ?, 0),
  start_by = iif(?, start_by, null)
where held_by = ? and held_by is not null`

/**
 * Frees the tasks and sessions of a runtime that is gone. If it died, it may have died of a task; if
 * it closed, the attempt that it cut off does not count.
 */
export function freeTasksOf(tx: Transaction, runtime: number, died: boolean): void {
  tx.sql(FREE).run(died ? 1 : 0, died ? 0 : 1, died ? 1 : 0, runtime)
  freeSessionsOf(tx, runtime)
}

const OWNED = `
select iid, execution, command, attempts as attempt
from tasks
where held_by = ? and held_by is not null`

/** The attempts that a runtime owns. */
export function ownedTasks(tx: Transaction, runtime: number): readonly TaskAttempt[] {
  return tx.sql(OWNED).all(runtime) as TaskAttempt[]
}

const FORGIVE = `
update tasks set deaths = 0, visible_at = null
where iid = ? and held_by is null and deaths > 0`

/** Resets the deaths of an instance's tasks. */
export function forgiveTasks(tx: Transaction, iid: Iid): void {
  tx.sql(FORGIVE).run(iid)
}

/** For each attempt whether it is still wanted, and still this runtime's. */
export function wantedOf(
  tx: Transaction,
  runtime: number,
  attempts: readonly TaskAttempt[],
): readonly boolean[] {
  return attempts.map((item) => isAttempt(findTask(tx, item), runtime, { ...item, token: null }))
}
