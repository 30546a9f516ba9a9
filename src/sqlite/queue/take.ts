import type { QueueRecord } from '../../store/queue-store.ts'
import { COLUMNS, type MessageRow, type Scope, toRecord } from './messages.ts'
import { IN_FLIGHT, READY } from './tally.ts'

/** Takes the next messages: by priority, then by id. */
export function take(scope: Scope, most: number, leaseMs: number): readonly QueueRecord[] {
  const { tx, queue, session, tally } = scope
  if (most === 0 || tally.ready === 0) return []
  const rows = tx
    .sql(
      `update messages
       set state = ${IN_FLIGHT}, due_at = ?, session = ?, attempt = attempt + 1, receipt = receipt + 1
       where id in (
         select id from messages where queue = ? and state = ${READY}
         order by priority desc, id limit ?)
       returning ${COLUMNS}`,
    )
    .all(tx.now + leaseMs, session, queue, most) as MessageRow[]
  tally.move(READY, IN_FLIGHT, rows.length)
  // In which order an update answers is left open.
  rows.sort((a, b) => b.priority - a.priority || a.id - b.id)
  return rows.map((row) => toRecord(tx, row))
}
