import type { HistoryPage, TurnRow } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

const APPEND = `
insert into history (iid, execution, turn, epoch, at, first, count, events)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing`

// Judges and writes in one statement: an owner of an instance with deaths has more to do than this.
const APPEND_OWNED = `
insert into history (iid, execution, turn, epoch, at, first, count, events)
select iid, ?, ?, epoch, ?, ?, ?, ?
from runs
where iid = ? and owner = ? and epoch = ? and held = 0 and attempts = 0 and doing = ''
on conflict do nothing`

const TURNS = `
select execution, turn, at, first, count, events
from history
where iid = ? and execution = ? and turn > ?
order by turn`

const PAGE = `
select execution, turn, at, first, count, events
from history
where iid = ? and execution = ? and first + count > ?
order by turn
limit ?`

const LAST_TURN = `
select execution, turn from history where iid = ? order by execution desc, turn desc limit 1`

/** Appends a turn; false when there is one in its place. */
export function appendTurn(tx: Transaction, iid: Iid, epoch: number, turn: TurnRow): boolean {
  const { execution, at, first, count, events } = turn
  return tx.sql(APPEND).run(iid, execution, turn.turn, epoch, at, first, count, events) > 0
}

/**
 * Appends the turn of an owner, if nothing else is to be done for it; false if the sender is not
 * the owner, if earlier owners died with the instance, or if there is a turn in its place.
 */
export function appendOwned(
  tx: Transaction,
  owner: number,
  iid: Iid,
  epoch: number,
  turn: TurnRow,
): boolean {
  const { execution, at, first, count, events } = turn
  const values = [execution, turn.turn, at, first, count, events]
  return tx.sql(APPEND_OWNED).run(...values, iid, owner, epoch) > 0
}

/** The epoch that wrote the turn in this place, if there is one. */
export function writerOf(tx: Transaction, iid: Iid, turn: TurnRow): number | undefined {
  const row = tx
    .sql('select epoch from history where iid = ? and execution = ? and turn = ?')
    .get(iid, turn.execution, turn.turn) as { epoch: number } | undefined
  return row?.epoch
}

/**
 * The last turn of an instance. Without history it is turn 0, and loading the instance will show
 * that.
 */
export function lastTurn(tx: Transaction, iid: Iid): { execution: number; turn: number } {
  const row = tx.sql(LAST_TURN).get(iid) as { execution: number; turn: number } | undefined
  return row === undefined
    ? { execution: 1, turn: 0 }
    : { execution: row.execution, turn: row.turn }
}

/** The turns of an execution after one of them, in order. */
export function turnsAfter(
  tx: Transaction,
  iid: Iid,
  execution: number,
  after: number,
): readonly TurnRow[] {
  return tx.sql(TURNS).all(iid, execution, after) as TurnRow[]
}

/** The turns of an execution, or a page of them, in order. */
export function history(
  tx: Transaction,
  iid: Iid,
  execution: number,
  page?: HistoryPage,
): readonly TurnRow[] {
  if (page === undefined) return turnsAfter(tx, iid, execution, 0)
  return tx.sql(PAGE).all(iid, execution, page.after + 1, page.limit) as TurnRow[]
}
