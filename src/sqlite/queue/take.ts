import type { QueueRecord } from '../../store/queue-store.ts'
import {
  COLUMNS,
  countWithinLimit,
  type MessageRow,
  putBack,
  type Scope,
  toRecord,
} from './messages.ts'
import { isSomethingDue } from './standing.ts'
import { IN_FLIGHT, READY } from './tally.ts'
import { after } from './times.ts'

/** Takes the next messages: by priority, then by id. */
export function take(scope: Scope, most: number, leaseMs: number): readonly QueueRecord[] {
  const { tx, queue, session, tally } = scope
  if (most === 0 || tally.ready === 0) return []
  const rows = tx
    .sql(
      `update messages
       set state = ${IN_FLIGHT}, due_at = ?, session = ?, attempt = attempt + 1, receipt = receipt + 1
       where id in (
         select id from messages
         where queue = ? and state = ${READY} and (expires_at is null or expires_at > ?)
         order by priority desc, id limit ?)
       returning ${COLUMNS}`,
    )
    .all(after(tx.now, leaseMs), session, queue, tx.now, most) as MessageRow[]
  const isMissing = rows.length < Math.min(most, tally.ready)
  tally.move(READY, IN_FLIGHT, rows.length)
  // Those that have expired count until they are seen to. Otherwise somebody removed rows by hand,
  // and whoever believed the count would look for them for ever.
  if (isMissing && !isSomethingDue(tx, queue)) tally.recount()
  // In which order an update answers is left open.
  rows.sort((a, b) => b.priority - a.priority || a.id - b.id)
  const count = countWithinLimit(rows)
  for (const row of rows.splice(count)) untake(scope, row)
  return rows.map((row) => toRecord(tx, row))
}

// In the same transaction, so that nobody saw it.
function untake(scope: Scope, { id, state }: MessageRow): void {
  scope.tx
    .sql('update messages set attempt = attempt - 1, receipt = receipt - 1 where id = ?')
    .run(id)
  putBack(scope, { id, state, key: null }, 0)
}
