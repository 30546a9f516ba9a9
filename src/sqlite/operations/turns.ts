import type { TurnItem, TurnRow, Verdict } from '../../store/commits.ts'
import type { Ending, Iid } from '../../store/instances.ts'
import { isOwner, verdictOnUnapplied } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { leaveLine } from './admissions.ts'
import { applyEffects } from './effects.ts'
import { endInstance } from './ends.ts'
import { appendOwned, appendTurn, writerOf } from './history.ts'
import { continueInstance } from './next-execution.ts'
import { writeReport } from './suspend.ts'

// A release is progress: the runtime that released it did not die of it.
const RELEASE = `update runs set owner = null, wake_at = ?, attempts = 0, doing = '' where iid = ?`
const SUSPEND = 'update runs set owner = null, wake_at = null, held = 1 where iid = ?'

const ENDING = `select status, output from instances where iid = ? and output is not null`

interface Run {
  readonly owner: number | null
  readonly epoch: number
  readonly attempts: number
  readonly doing: string
  readonly held: number
  readonly child: number
  readonly admitted: number | null
}

/** Judges what a runtime writes about one instance and, if it may, writes it. */
export function commitTurn(
  tx: Transaction,
  runtime: number,
  item: TurnItem,
  /** Gets the instances that are due because this one left the limit of their workflow. */
  woken: Iid[],
): Verdict {
  if (isTurnOnly(item) && appendOwned(tx, runtime, item.iid, item.epoch, item.turn)) return 'done'
  const { iid, epoch, turn, effects } = item
  const run = tx
    .sql('select owner, epoch, attempts, doing, held, child, admitted from runs where iid = ?')
    .get(iid) as Run | undefined
  const owned = run && { ...run, isSuspended: run.held === 1 }
  if (run === undefined || !isOwner(owned, runtime, epoch) || !append(tx, item)) {
    return verdictOnUnapplied(item, {
      run: owned,
      writerOf: (other) => writerOf(tx, iid, other),
      ending: () => tx.sql(ENDING).get(iid) as Ending | undefined,
    })
  }
  for (const id of item.taken) tx.sql('delete from inbox where id = ? and iid = ?').run(id, iid)
  if (effects !== null) {
    applyEffects(tx, iid, turn?.execution ?? currentExecution(tx, iid), effects)
  }
  // It made progress, so earlier deaths no longer count. Most turns leave the row alone.
  if (turn !== null && (run.attempts > 0 || run.doing !== '')) {
    tx.sql(`update runs set attempts = 0, doing = '' where iid = ?`).run(iid)
  }
  proceed(tx, item, run.child === 1)
  if (item.next.kind === 'end' && run.admitted !== null) {
    const next = leaveLine(tx, iid)
    if (next !== undefined) woken.push(next)
  }
  return 'done'
}

/** Whether one more turn is all there is to write: by far the most common case. */
function isTurnOnly(item: TurnItem): item is TurnItem & { readonly turn: TurnRow } {
  const { turn, taken, effects, next } = item
  return (
    next.kind === 'keep' &&
    effects === null &&
    taken.length === 0 &&
    turn !== null &&
    // The first one of an execution changes the instance.
    turn.turn > 1
  )
}

/**
 * Appends the turn; false when there is one in its place, or in that of the execution to come.
 *
 * The key is the second line of defence: a rightful owner meets only its own turn there, whose
 * effects were committed with it.
 */
function append(tx: Transaction, { iid, epoch, turn, next }: TurnItem): boolean {
  if (next.kind === 'continue' && writerOf(tx, iid, next.started) !== undefined) return false
  if (turn === null) return true
  if (!appendTurn(tx, iid, epoch, turn)) return false
  if (turn.turn === 1) {
    tx.sql('update instances set execution = ? where iid = ?').run(turn.execution, iid)
  }
  return true
}

function currentExecution(tx: Transaction, iid: Iid): number {
  const sql = 'select execution from instances where iid = ?'
  return (tx.sql(sql).get(iid) as { execution: number }).execution
}

function proceed(tx: Transaction, { iid, epoch, next }: TurnItem, isChild: boolean): void {
  switch (next.kind) {
    case 'keep':
      return
    case 'release':
      tx.sql(RELEASE).run(next.wakeAt, iid)
      return
    case 'suspend':
      tx.sql(SUSPEND).run(iid)
      writeReport(tx, iid, next.report)
      return
    case 'end':
      endInstance(tx, iid, next.end, isChild)
      return
    case 'continue':
      continueInstance(tx, iid, epoch, next)
  }
}
