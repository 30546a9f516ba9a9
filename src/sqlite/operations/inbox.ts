import { MAX_UNSTARTED_SAMPLED, UNSTARTED_SAMPLE } from '../../store/constants.ts'
import type { Delivery } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

// There is one writer at a time: an end cannot come between the check whether an instance has ended
// and the insert. So nothing is left in the inbox of an instance that has ended.

const PUT = `
insert into inbox (iid, kind, name, reply_to, payload, parked, at) values (?, ?, ?, ?, ?, ?, ?)`

/** Something for an instance that is not the result of a command. */
interface Note {
  readonly kind: 'message' | 'cancel' | 'terminate'
  readonly name: string
  readonly replyTo: string
  readonly payload: string
}

/** Whether claims and ticks read it: `parked` in the table. */
export const PARKED = { no: 0, unread: 1, untilStart: 2 } as const

const SAMPLED = `
select count(*) as count
from (select 1 from inbox where parked = ${PARKED.untilStart} and id % ${UNSTARTED_SAMPLE} = 0 limit ?)`

/**
 * Whether as many messages wait for instances that were never started as are kept in all: an estimate,
 * as on PostgreSQL, where a count would be a row that all senders lock.
 */
export function unstartedIsFull(tx: Transaction): boolean {
  const { count } = tx.sql(SAMPLED).get(MAX_UNSTARTED_SAMPLED) as { count: number }
  return count >= MAX_UNSTARTED_SAMPLED
}

/** Adds to the inbox of an instance, behind all that is there. */
export function putIntoInbox(
  tx: Transaction,
  iid: Iid,
  { kind, name, replyTo, payload }: Note,
  parked: number,
): void {
  tx.sql(PUT).run(iid, kind, name, replyTo, payload, parked, tx.now)
}

/** What arrived before the start and was parked now waits for the owner. */
export function unparkAll(tx: Transaction, iid: Iid): void {
  tx.sql('update inbox set parked = 0 where iid = ?').run(iid)
}

// Only unfinished ones: an instance that has ended reads nothing more.
const SEND = `
insert into inbox (iid, kind, execution, command, payload, at)
select iid, ?, ?, ?, ?, ? from runs where iid = ?
on conflict do nothing`

/** Puts results into inboxes; a second one for a command is dropped. */
export function send(tx: Transaction, deliveries: readonly Delivery[]): void {
  for (const { iid, kind, execution, command, payload, known } of deliveries) {
    if (known !== undefined && !hasTurn(tx, iid, execution, known)) continue
    tx.sql(SEND).run(kind, execution, command, payload, tx.now, iid)
  }
}

const TURN_AT = 'select at from history where iid = ? and execution = ? and turn = ?'

/** Whether history has the last turn that the sender of a result has seen. */
function hasTurn(
  tx: Transaction,
  iid: Iid,
  execution: number,
  { turn, at }: NonNullable<Delivery['known']>,
): boolean {
  const row = tx.sql(TURN_AT).get(iid, execution, turn) as { at: number } | undefined
  return row?.at === at
}
