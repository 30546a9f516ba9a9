import type { TurnItem, TurnRow, Verdict } from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'

const APPEND = `
insert into history (iid, execution, turn, epoch, at, first, count, events)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing`

// To come to rest is progress: who released it did not die of it.
const RELEASE = 'update runs set owner = null, wake_at = ?, attempts = 0 where iid = ?'
const HOLD = 'update runs set owner = null, wake_at = null, held = 1 where iid = ?'
const END = `
update instances
set status = ?, output = ?, report = null, updated_at = ?, finished_at = ?
where iid = ?`

interface Run {
  readonly owner: number | null
  readonly epoch: number
  readonly attempts: number
  readonly held: number
}

/** Appends a turn; false when there is one in its place. */
export function appendTurn(tx: Transaction, iid: number, epoch: number, turn: TurnRow): boolean {
  const { execution, at, first, count, events } = turn
  return tx.sql(APPEND).run(iid, execution, turn.turn, epoch, at, first, count, events) > 0
}

/** Judges what a runtime writes about one instance and, if it may, writes it. */
export function commitTurn(tx: Transaction, runtime: number, item: TurnItem): Verdict {
  const { iid, epoch, turn } = item
  const run = tx.sql('select owner, epoch, attempts, held from runs where iid = ?').get(iid) as
    Run | undefined
  if (run === undefined || run.owner !== runtime || run.epoch !== epoch || run.held !== 0) {
    return wasDone(tx, run, item) ? 'done' : 'refused'
  }
  if (turn !== null) {
    // The key is the second line of defence: a rightful owner meets only its own turn there, whose
    // effects were committed with it.
    if (!appendTurn(tx, iid, epoch, turn)) return wasDone(tx, run, item) ? 'done' : 'refused'
    if (turn.turn === 1) {
      tx.sql('update instances set execution = ? where iid = ?').run(turn.execution, iid)
    }
  }
  for (const id of item.taken) tx.sql('delete from inbox where id = ? and iid = ?').run(id, iid)
  // It got further, so earlier deaths of owners no longer count. Most turns leave the row alone.
  if (turn !== null && run.attempts > 0) {
    tx.sql('update runs set attempts = 0 where iid = ?').run(iid)
  }
  proceed(tx, item)
  return 'done'
}

function proceed(tx: Transaction, { iid, next }: TurnItem): void {
  switch (next.kind) {
    case 'keep':
      return
    case 'release':
      tx.sql(RELEASE).run(next.wakeAt, iid)
      return
    case 'hold':
      tx.sql(HOLD).run(iid)
      tx.sql('update instances set report = ?, updated_at = ? where iid = ?').run(
        next.report,
        tx.now,
        iid,
      )
      return
    case 'end':
      tx.sql('delete from runs where iid = ?').run(iid)
      tx.sql('delete from inbox where iid = ?').run(iid)
      tx.sql(END).run(next.end.status, next.end.output, tx.now, tx.now, iid)
  }
}

/** Whether this very item was committed before, and only its answer was lost. */
function wasDone(tx: Transaction, run: Run | undefined, item: TurnItem): boolean {
  const { iid, epoch, turn, next } = item
  if (turn !== null) {
    const row = tx
      .sql('select epoch from history where iid = ? and execution = ? and turn = ?')
      .get(iid, turn.execution, turn.turn) as { epoch: number } | undefined
    return row?.epoch === epoch
  }
  // No row of history tells. But an epoch has one owner, who is alive here, and nobody else gives
  // away what it owns.
  switch (next.kind) {
    case 'keep':
      return false
    case 'release':
    case 'hold':
      return (
        run !== undefined &&
        run.epoch === epoch &&
        run.owner === null &&
        (run.held === 1) === (next.kind === 'hold')
      )
    case 'end': {
      const sql = 'select 1 from instances where iid = ? and status = ?'
      return run === undefined && tx.sql(sql).get(iid, next.end.status) !== undefined
    }
  }
}
