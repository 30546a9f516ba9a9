import type { PushGroup, PushVerdict } from '../../store/queue-store.ts'
import { firstOfKey, type Scope } from './messages.ts'
import { insertRow, Rows } from './rows.ts'
import { BLOCKED, DELAYED, READY } from './queue-row.ts'
import { after } from '../file/times.ts'

/** Stores groups in their order; with `inOrder`, one that finds no room keeps later ones out. */
export function pushAll(
  scope: Scope,
  groups: readonly PushGroup[],
  capacity: number,
  inOrder: boolean,
): readonly PushVerdict[] {
  const rows = new Rows(scope.tx)
  let isFull = false
  const verdicts = groups.map((group) => {
    if (isFull) return refused('full')
    const verdict = push(scope, rows, group, capacity)
    isFull = inOrder && verdict.state === 'full'
    return verdict
  })
  rows.flush()
  return verdicts
}

// All of a group, or none of it.
function push(scope: Scope, rows: Rows, group: PushGroup, capacity: number): PushVerdict {
  const count = group.payloads.length
  const earlier = group.dedupeKey === null ? undefined : findEarlier(scope, group.dedupeKey)
  if (earlier !== undefined) return earlier
  if (scope.queueRow.live + count > capacity) return refused('full')
  const firstId = scope.queueRow.takeIds(count)
  if (firstId === undefined) return refused('ids_exhausted')
  store(scope, rows, group, firstId)
  if (group.dedupeKey !== null) remember(scope, group, firstId)
  return { state: 'stored', firstId, count }
}

/** The verdict on a group that is not stored. */
export function refused(state: 'full' | 'no_disk' | 'ids_exhausted'): PushVerdict {
  return { state, firstId: -1, count: 0 }
}

function store(scope: Scope, rows: Rows, group: PushGroup, firstId: number): void {
  const { tx, queue, queueRow } = scope
  const { key, priority, delayMs, ttlMs, payloads } = group
  const dueAt = delayMs > 0 ? after(tx.now, delayMs) : null
  const expiresAt = ttlMs === null ? null : after(tx.now, ttlMs)
  const unblocked = dueAt === null ? READY : DELAYED
  const common = { queue, state: unblocked, priority, dueAt, expiresAt, key }
  if (key === null) {
    payloads.forEach((payload, i) => rows.add(common, firstId + i, payload))
    return queueRow.add(unblocked, payloads.length)
  }
  let isBlocked = firstOfKey(scope, key) !== undefined
  payloads.forEach((payload, i) => {
    const state = isBlocked ? BLOCKED : unblocked
    insertRow(tx, { ...common, state }, firstId + i, payload)
    queueRow.add(state)
    isBlocked = true
  })
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
