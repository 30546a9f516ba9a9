import type { Payload, PushGroup, PushVerdict } from '../../store/queue-store.ts'
import { isHeld, LARGE, type Scope } from './messages.ts'
import { BLOCKED, DELAYED, READY } from './tally.ts'

/** Stores a group of messages, or none of them. */
export function push(scope: Scope, group: PushGroup, capacity: number): PushVerdict {
  const count = group.payloads.length
  const earlier = group.dedupeKey === null ? undefined : findEarlier(scope, group.dedupeKey)
  if (earlier !== undefined) return earlier
  if (group.firstId !== null && isStored(scope, group.firstId)) {
    return { state: 'stored', firstId: group.firstId, count }
  }
  if (scope.tally.live + count > capacity) return { state: 'full' }
  const firstId = group.firstId ?? scope.tally.takeIds(count)
  if (firstId === undefined) return { state: 'ids_exhausted' }
  group.payloads.forEach((payload, i) => insert(scope, group, payload, firstId + i))
  if (group.dedupeKey !== null) remember(scope, group, firstId)
  return { state: 'stored', firstId, count }
}

function insert(scope: Scope, group: PushGroup, { data, format }: Payload, id: number): void {
  const { tx, queue, tally } = scope
  const { key, priority, delayMs, ttlMs } = group
  const dueAt = delayMs > 0 ? tx.now + delayMs : null
  const state = key !== null && isHeld(scope, key) ? BLOCKED : dueAt === null ? READY : DELAYED
  const isLarge = data.length > LARGE
  tx.sql(
    `insert into messages (id, queue, state, priority, due_at, attempt, receipt, pushed_at,
       expires_at, key, format, data)
     values (?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?)`,
  ).run(
    id,
    queue,
    state,
    priority,
    dueAt,
    tx.now,
    ttlMs === null ? null : tx.now + ttlMs,
    key,
    format,
    isLarge ? null : data,
  )
  if (isLarge) tx.sql('insert into large_data (id, data) values (?, ?)').run(id, data)
  tally.add(state)
}

// Sent again, because the thread had ended before it could answer.
function isStored({ tx }: Scope, id: number): boolean {
  return tx.sql('select 1 as stored from messages where id = ?').get(id) !== undefined
}

function findEarlier({ tx, queue }: Scope, key: string): PushVerdict | undefined {
  tx.sql(
    'delete from dedupes where (queue, key) in (select queue, key from dedupes where until <= ? limit 100)',
  ).run(tx.now)
  const row = tx
    .sql('select first_id, count from dedupes where queue = ? and key = ? and until > ?')
    .get(queue, key, tx.now) as { first_id: number; count: number } | undefined
  return row && { state: 'duplicate', firstId: row.first_id, count: row.count }
}

function remember({ tx, queue }: Scope, group: PushGroup, firstId: number): void {
  tx.sql(
    'insert or replace into dedupes (queue, key, first_id, count, until) values (?, ?, ?, ?, ?)',
  ).run(queue, group.dedupeKey, firstId, group.payloads.length, tx.now + group.dedupeMs)
}
