import type { Beat } from '../../store/tasks.ts'
import { isAttempt } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { isAlive } from './runtimes.ts'
import { touchSession } from './task-sessions.ts'
import { findTask, insertTask } from './tasks.ts'

/** Records heartbeats; returns for each whether the attempt is still wanted. */
export function beat(tx: Transaction, runtime: number, beats: readonly Beat[]): readonly boolean[] {
  if (!isAlive(tx, runtime)) return beats.map(() => false)
  return beats.map((item) => beatOne(tx, runtime, item))
}

const NOTE = 'update tasks set beat = coalesce(?, beat), beat_until = ? where number = ?'

function beatOne(tx: Transaction, runtime: number, item: Beat): boolean {
  const { attempt, details, silentMs, local } = item
  const beatUntil = silentMs === null ? null : Math.ceil(tx.now + silentMs)
  const task = findTask(tx, item)
  if (task === undefined && local !== null && isOwner(tx, runtime, local.epoch, item)) {
    const attempted = { runtime, beat: details, beatUntil }
    insertTask(tx, item, { ...local.task, command: item.command, attempts: attempt }, attempted)
    touchSession(tx, local.task.session, runtime)
    return true
  }
  if (task === undefined || !isAttempt(task, runtime, item)) return false
  tx.sql(NOTE).run(details, beatUntil, task.number)
  touchSession(tx, task.session, runtime)
  return true
}

// Only of the current execution: an earlier one no longer waits for its tasks.
const OWNS = `
select 1
from runs join instances on instances.iid = runs.iid
where runs.iid = ? and owner = ? and epoch = ? and held = 0 and execution = ?`

function isOwner(
  tx: Transaction,
  runtime: number,
  epoch: number,
  { iid, execution }: Beat,
): boolean {
  return tx.sql(OWNS).get(iid, runtime, epoch, execution) !== undefined
}
