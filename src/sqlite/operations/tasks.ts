import type { Effects } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type { NewTask, OpenTask, TaskKey } from '../../store/tasks.ts'
import type { OwnedTask } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { limitColumns } from './task-limits.ts'
import { pinOf } from './task-sessions.ts'

// The rows of tasks: how they are added and removed. A task exists as long as its instance waits
// for it.

/** The runtime that owns a task from the start, and its attempt. */
export interface FirstAttempt {
  readonly runtime: number | null
  readonly beat: string | null
  readonly beatUntil: number | null
}

const UNOWNED: FirstAttempt = { runtime: null, beat: null, beatUntil: null }

const INSERT = `
insert into tasks (
  iid, execution, command, activity, tag, session, pin, input, options, attempts, start_by,
  limit_key, concurrency, rate_count, rate_ms, held_by, beat, beat_until, token
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing`

const HAS_RESULT = `
select 1 from inbox where iid = ? and execution = ? and command = ? and command > 0`

/**
 * Adds a task; a second one for a command is dropped. So is one whose command already has its
 * result: its sender missed the answer to the first time.
 */
export function insertTask(
  tx: Transaction,
  { iid, execution }: Pick<TaskKey, 'iid' | 'execution'>,
  task: NewTask,
  { runtime, beat, beatUntil } = UNOWNED,
): void {
  const { command, activity, tag, session, input, options, attempts, startBy, limit } = task
  if (tx.sql(HAS_RESULT).get(iid, execution, command) !== undefined) return
  const pin = pinOf(tx, session)
  const what = [iid, execution, command, activity, tag, session, pin, input, options]
  const how = [attempts, startBy, ...limitColumns(limit)]
  tx.sql(INSERT).run(...what, ...how, runtime, beat, beatUntil, task.token)
}

const DROP = 'delete from tasks where iid = ? and execution = ? and command = ?'

/** Adds the tasks that a turn asks for, and removes those that are no longer needed. */
export function changeTasks(
  tx: Transaction,
  iid: Iid,
  execution: number,
  { tasks, dropsTasks }: Pick<Effects, 'tasks' | 'dropsTasks'>,
): void {
  for (const task of tasks) insertTask(tx, { iid, execution }, task)
  // Last, since a turn may drop what it asked for.
  for (const command of dropsTasks) tx.sql(DROP).run(iid, execution, command)
}

/** Removes all tasks of an instance that has ended, whichever runtime owns them. */
export function removeTasks(tx: Transaction, iid: Iid): void {
  tx.sql('delete from tasks where iid = ?').run(iid)
}

/** Removes the tasks of all executions before this one. */
export function removeOldTasks(tx: Transaction, iid: Iid, execution: number): void {
  tx.sql('delete from tasks where iid = ? and execution < ?').run(iid, execution)
}

const OPEN = `
select command, attempts, held_by is not null as isOwned
from tasks
where iid = ? and execution = ?`

/** The tasks of an execution, as the owner of the instance sees them. */
export function openTasks(tx: Transaction, iid: Iid, execution: number): readonly OpenTask[] {
  const rows = tx.sql(OPEN).all(iid, execution) as (Omit<OpenTask, 'isOwned'> & {
    isOwned: number
  })[]
  return rows.map((row) => ({ ...row, isOwned: row.isOwned === 1 }))
}

/** What is judged on when something is written about a task. */
export interface TaskRow extends OwnedTask {
  readonly number: number
  readonly session: string
}

const FIND = `
select number, held_by as owner, attempts, session, token
from tasks
where iid = ? and execution = ? and command = ?`

/** A task by its key. */
export function findTask(tx: Transaction, key: TaskKey): TaskRow | undefined {
  return tx.sql(FIND).get(key.iid, key.execution, key.command) as TaskRow | undefined
}
