import type { QueueBatch, QueueRecord } from '../../store/queue-store.ts'
import {
  COLUMNS,
  countWithinLimit,
  type MessageRow,
  putBack,
  type Scope,
  toRecord,
  toRow,
} from './messages.ts'
import { isDue, nextDueAt } from './next-due.ts'
import { IN_FLIGHT, READY } from './queue-row.ts'
import { after } from '../file/times.ts'

// The column `session` says which user has a message in flight: as a negative number if it was
// prefetched and its attempt does not count should the process end. A message that failed before
// has a reason; its attempts always count, so that no message can end processes forever.

const NEXT = `where queue = ? and state = ${READY} and (expires_at is null or expires_at > ?)
  order by priority desc, id limit ?`

/** Takes the next messages: by priority, then by id. */
export function takeAll(
  scope: Scope,
  { takes, leaseMs, maxAttempts }: Pick<QueueBatch, 'takes' | 'leaseMs' | 'maxAttempts'>,
): readonly QueueRecord[] {
  const { tx, queue, session, queueRow } = scope
  const until = after(tx.now, leaseMs)
  const rows: MessageRow[] = []
  for (const { max, isPrefetched } of takes) {
    const found = Math.min(max, queueRow.ready)
    if (found === 0) break
    // With a limit of one attempt, there is no other attempt to count it with.
    const freshSession = isPrefetched && maxAttempts > 1 ? -session : session
    const taken = take(scope, found, until, freshSession)
    rows.push(...taken)
    queueRow.move(READY, IN_FLIGHT, taken.length)
    if (taken.length === found) continue
    // Expired messages count until they are removed. Otherwise rows were deleted by hand, and the
    // counters would never match again.
    if (!isDue(tx, nextDueAt(tx, queue))) queueRow.recount()
    break
  }
  const count = countWithinLimit(rows)
  for (const row of rows.splice(count)) untake(scope, row)
  return rows.map((row) => toRecord(tx, row))
}

/** For `freshSession` where it is the first time, otherwise for this one. */
function take(
  { tx, queue, session }: Scope,
  max: number,
  until: number,
  freshSession: number,
): readonly MessageRow[] {
  const found = tx.sql(`select ${COLUMNS} from messages ${NEXT}`).lists(queue, tx.now, max)
  // Not `returning`, which takes longer than both together, and in whatever order.
  tx.sql(
    `update messages
     set state = ${IN_FLIGHT}, due_at = ?, session = case when reason is null then ? else ? end,
       attempt = attempt + 1, receipt = receipt + 1
     where id in (select id from messages ${NEXT})`,
  ).run(until, freshSession, session, queue, tx.now, max)
  return found.map((list) => {
    const row = toRow(list)
    return { ...row, state: IN_FLIGHT, attempt: row.attempt + 1, receipt: row.receipt + 1 }
  })
}

// In the same transaction, so that no other process saw it.
function untake(scope: Scope, { id, state }: MessageRow): void {
  scope.tx
    .sql('update messages set attempt = attempt - 1, receipt = receipt - 1 where id = ?')
    .run(id)
  putBack(scope, { id, state, key: null }, 0)
}
