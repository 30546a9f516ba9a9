import type { QueueRecord } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'
import { STATES } from './packed-records.ts'
import { BLOCKED, DEAD, DELAYED, READY, type Tally } from './tally.ts'

/** The columns of a record. */
export const COLUMNS = 'id, state, priority, attempt, receipt, pushed_at, reason, format, data'

/** A row with these columns. */
export interface MessageRow {
  readonly id: number
  readonly state: number
  readonly priority: number
  readonly attempt: number
  readonly receipt: number
  readonly pushed_at: number
  readonly reason: string | null
  readonly format: number
  readonly data: string | Uint8Array | null
}

/** What is known of a message that leaves, or goes on to another state. */
export interface Leaving {
  readonly id: number
  readonly state: number
  readonly key: string | null
}

/** More than this is kept apart. Longer text counts double at worst, which does no harm. */
export const LARGE = 2_000

/** One transaction on one queue. */
export interface Scope {
  readonly tx: Transaction
  readonly queue: number
  readonly session: number
  readonly tally: Tally
}

/** A row as a record, with its large data. */
export function toRecord(tx: Transaction, row: MessageRow): QueueRecord {
  return {
    id: row.id,
    state: STATES[row.state]!,
    attempt: row.attempt,
    receipt: row.receipt,
    pushedAt: row.pushed_at,
    reason: row.reason ?? '',
    format: row.format,
    data: row.data ?? largeData(tx, row.id),
  }
}

function largeData(tx: Transaction, id: number): string | Uint8Array {
  const row = tx.sql('select data from large_data where id = ?').get(id)
  return (row as { data: string | Uint8Array } | undefined)?.data ?? ''
}

/**
 * Takes a message out for good; with a receipt, only if that is the latest. Answers whether it did.
 *
 * Goes by the row as it is now: what another removal let through may be removed next.
 */
export function remove(scope: Scope, id: number, receipt?: number): boolean {
  const removed = scope.tx
    .sql(
      `delete from messages where id = ? and queue = ? and receipt = ifnull(?, receipt)
       returning id, state, key, data is null as large`,
    )
    .get(id, scope.queue, receipt ?? null) as (Leaving & { readonly large: number }) | undefined
  if (removed === undefined) return false
  if (removed.large === 1) scope.tx.sql('delete from large_data where id = ?').run(id)
  scope.tally.remove(removed.state)
  letNextThrough(scope, removed)
  return true
}

/** Makes a message a dead letter. Later ones of its key go on. */
export function setAside(scope: Scope, leaving: Leaving, reason: string): void {
  scope.tx
    .sql(
      `update messages set state = ${DEAD}, due_at = null, session = null, reason = ? where id = ?`,
    )
    .run(reason, leaving.id)
  scope.tally.move(leaving.state, DEAD)
  letNextThrough(scope, leaving)
}

/** Makes a message wait for a time, or be ready when that is over. */
export function putBack(scope: Scope, { id, state }: Leaving, dueAt: number): void {
  const waits = dueAt > scope.tx.now
  scope.tx
    .sql('update messages set state = ?, due_at = ?, session = null where id = ?')
    .run(waits ? DELAYED : READY, waits ? dueAt : null, id)
  scope.tally.move(state, waits ? DELAYED : READY)
}

/** Whether a message of this key is there that is neither blocked nor dead (Q4). */
export function isHeld({ tx, queue }: Scope, key: string): boolean {
  const first = tx
    .sql(
      `select 1 as held from messages
       where queue = ? and key = ? and key is not null and state not in (${DEAD}, ${BLOCKED})
       limit 1`,
    )
    .get(queue, key)
  return first !== undefined
}

// The one that leaves was the first of its key, unless it was blocked or dead itself.
function letNextThrough(scope: Scope, { key, state }: Leaving): void {
  if (key === null || state === BLOCKED || state === DEAD) return
  const next = scope.tx
    .sql(
      `select id, due_at from messages
       where queue = ? and key = ? and key is not null and state = ${BLOCKED}
       order by id limit 1`,
    )
    .get(scope.queue, key) as { id: number; due_at: number | null } | undefined
  if (next !== undefined) {
    putBack(scope, { id: next.id, state: BLOCKED, key }, next.due_at ?? 0)
  }
}
