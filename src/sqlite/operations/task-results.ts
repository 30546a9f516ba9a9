import type { TaskResult, TaskVerdict } from '../../store/tasks.ts'
import { takesResult } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { send } from './inbox.ts'
import { isAlive } from './runtimes.ts'
import { touchSession } from './task-sessions.ts'
import { findTask } from './tasks.ts'

const OWNER = 'select owner from runs where iid = ?'

/** Takes the results of attempts, one after the other. */
export function finishTasks(
  tx: Transaction,
  runtime: number,
  results: readonly TaskResult[],
): readonly TaskVerdict[] {
  const sender = { runtime, isAlive: isAlive(tx, runtime) }
  return results.map((result) => {
    const verdict = finishOne(tx, sender, result) ? 'done' : 'gone'
    const run = tx.sql(OWNER).get(result.iid) as { owner: number | null } | undefined
    return { verdict, owner: run?.owner ?? null }
  })
}

const RETRY = `
update tasks set held_by = null, beat_until = null, visible_at = ?, error = ? where number = ?`

const RELEASE = `
update tasks set held_by = null, beat_until = null, visible_at = ?, attempts = max(attempts - 1, 0), start_by = null
where number = ?`

function finishOne(
  tx: Transaction,
  sender: { readonly runtime: number; readonly isAlive: boolean },
  result: TaskResult,
): boolean {
  const { iid, execution, command, end } = result
  const task = findTask(tx, result)
  if (task === undefined || !takesResult(task, sender, result)) return false
  switch (end.kind) {
    case 'completed':
    case 'failed':
      tx.sql('delete from tasks where number = ?').run(task.number)
      send(tx, [{ iid, kind: end.kind, execution, command, payload: end.payload }])
      break
    case 'retry':
      tx.sql(RETRY).run(visibleAt(tx, end.delayMs), end.error ?? null, task.number)
      break
    case 'release':
      tx.sql(RELEASE).run(visibleAt(tx, end.delayMs), task.number)
  }
  if (task.owner === sender.runtime) touchSession(tx, task.session, sender.runtime)
  return true
}

function visibleAt(tx: Transaction, delayMs: number): number | null {
  return delayMs > 0 ? Math.ceil(tx.now + delayMs) : null
}
