import type { Payload, PushGroup, PushVerdict } from '../../store/queue-store.ts'
import { checksumOf } from './checksum.ts'
import { firstOfKey, LARGE, type Scope } from './messages.ts'
import { BLOCKED, DELAYED, READY } from './tally.ts'
import { after } from './times.ts'

/** Stores groups in their order; with `inOrder`, one that finds no room keeps later ones out. */
export function pushAll(
  scope: Scope,
  groups: readonly PushGroup[],
  capacity: number,
  inOrder: boolean,
): readonly PushVerdict[] {
  let isFull = false
  return groups.map((group) => {
    if (isFull) return refused('full')
    const verdict = push(scope, group, capacity)
    isFull = inOrder && verdict.state === 'full'
    return verdict
  })
}

// All of a group, or none of it.
function push(scope: Scope, group: PushGroup, capacity: number): PushVerdict {
  const count = group.payloads.length
  const earlier = group.dedupeKey === null ? undefined : findEarlier(scope, group.dedupeKey)
  if (earlier !== undefined) return earlier
  if (group.firstId !== null && isStored(scope, group.firstId)) {
    return { state: 'stored', firstId: group.firstId, count }
  }
  if (scope.tally.live + count > capacity) return refused('full')
  const firstId = group.firstId ?? scope.tally.takeIds(count)
  if (firstId === undefined) return refused('ids_exhausted')
  group.payloads.forEach((payload, i) => insert(scope, group, payload, firstId + i))
  if (group.dedupeKey !== null) remember(scope, group, firstId)
  return { state: 'stored', firstId, count }
}

/** The verdict on a group that is not stored. */
export function refused(state: 'full' | 'no_disk' | 'ids_exhausted'): PushVerdict {
  return { state, firstId: -1, count: 0 }
}

// Node 22 takes a view of no memory at all for null.
const NO_BYTES = Buffer.alloc(1).subarray(0, 0)

function insert(scope: Scope, group: PushGroup, payload: Payload, id: number): void {
  const { tx, queue, tally } = scope
  const { key, priority, delayMs, ttlMs } = group
  const { data, format } = payload
  const dueAt = delayMs > 0 ? after(tx.now, delayMs) : null
  const isBlocked = key !== null && firstOfKey(scope, key) !== undefined
  const state = isBlocked ? BLOCKED : dueAt === null ? READY : DELAYED
  const isLarge = data.length > LARGE
  tx.sql(
    `insert into messages (id, queue, state, priority, due_at, attempt, receipt, pushed_at,
       expires_at, key, format, checksum, large, data)
     values (?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    id,
    queue,
    state,
    priority,
    dueAt,
    tx.now,
    ttlMs === null ? null : after(tx.now, ttlMs),
    key,
    format,
    checksumOf(id, payload),
    isLarge ? data.length : null,
    isLarge ? null : data.length > 0 || typeof data === 'string' ? data : NO_BYTES,
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
  ).run(queue, group.dedupeKey, firstId, group.payloads.length, after(tx.now, group.dedupeMs))
}
