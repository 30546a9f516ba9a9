import { countWithin } from '../../base/sync/count-within.ts'
import type { QueueEvents, QueueRecord } from '../../store/queue-store.ts'
import type { Transaction } from '../file/database.ts'
import { verified } from './checksum.ts'
import { type QueueCounters, readCounters } from './counters.ts'
import { STATES } from './packed-records.ts'
import { BLOCKED, DEAD, DELAYED, IN_FLIGHT, READY, QueueRow } from './queue-row.ts'

/** The columns of a record. */
export const COLUMNS =
  'id, state, attempt, receipt, pushed_at, reason, format, checksum, large, data'

/** A row with these columns. */
export interface MessageRow {
  readonly id: number
  readonly state: number
  readonly attempt: number
  readonly receipt: number
  readonly pushed_at: number
  readonly reason: string | null
  readonly format: number
  readonly checksum: number
  readonly large: number | null
  readonly data: unknown
}

/** A row that was read as a list. */
export function toRow(list: readonly unknown[]): MessageRow {
  const [id, state, attempt, receipt, pushed_at, reason, format, checksum, large, data] = list as [
    number,
    number,
    number,
    number,
    number,
    string | null,
    number,
    number,
    number | null,
    unknown,
  ]
  return { id, state, attempt, receipt, pushed_at, reason, format, checksum, large, data }
}

/** The columns of a message that is removed, or changes its state. */
export interface Leaving {
  readonly id: number
  readonly state: number
  readonly key: string | null
}

/**
 * Longer data is stored in a table of its own. Long text counts double at worst, which is harmless.
 */
export const LARGE = 2_000

/** So much data that is kept apart is read at once: it passes through memory several times. */
const READ_AT_ONCE = [
  { max: 8 * 1024 * 1024, of: ({ large }: Pick<MessageRow, 'large'>) => large ?? 0 },
]

/** One transaction on one queue. */
export interface Scope {
  readonly tx: Transaction
  readonly queue: number
  readonly session: number
  /** What it began with. */
  readonly found: QueueCounters
  readonly queueRow: QueueRow
  readonly events: { -readonly [Kind in keyof QueueEvents]: number }
}

/** What a transaction on a queue begins with. */
export function scopeOf(tx: Transaction, queue: number, session: number): Scope {
  const found = readCounters(tx, queue, session)
  const events = { expired: 0, lapsed: 0, dead: 0 }
  return { tx, queue, session, found, queueRow: new QueueRow(tx, queue, found), events }
}

/** A row as a record, with its large data. */
export function toRecord(tx: Transaction, row: MessageRow): QueueRecord {
  const found = row.large === null ? row.data : largeData(tx, row.id)
  const { data, format } = verified(row.id, found, row.format, row.checksum)
  return {
    id: row.id,
    state: STATES[row.state]!,
    attempt: row.attempt,
    receipt: row.receipt,
    pushedAt: row.pushed_at,
    reason: row.reason ?? '',
    format,
    data,
  }
}

function largeData(tx: Transaction, id: number): unknown {
  const row = tx.sql('select data from large_data where id = ?').get(id)
  return (row as { data: unknown } | undefined)?.data
}

/** How many of the first rows can be read at once; one of them always can. */
export function countWithinLimit(rows: readonly Pick<MessageRow, 'large'>[]): number {
  return countWithin(rows, rows.length, READ_AT_ONCE)
}

/** Removes a message if the receipt is of its latest delivery; returns whether it did. */
export function acknowledge(
  scope: Scope,
  { id, receipt }: { readonly id: number; readonly receipt: number },
): boolean {
  // How most messages leave. Returning rows takes as long again as the statement itself.
  const count = scope.tx
    .sql(
      `delete from messages
       where id = ? and queue = ? and receipt = ? and state = ${IN_FLIGHT} and key is null
         and large is null`,
    )
    .run(id, scope.queue, receipt)
  if (count === 0) return remove(scope, id, receipt)
  scope.queueRow.remove(IN_FLIGHT)
  return true
}

/**
 * Takes a message out for good; with a receipt, only if that is the latest. Returns whether it did.
 *
 * Uses the row as it is now: what another removal let through may be removed next.
 */
export function remove(scope: Scope, id: number, receipt?: number): boolean {
  const removed = scope.tx
    .sql(
      `delete from messages where id = ? and queue = ? and receipt = ifnull(?, receipt)
       returning id, state, key, large`,
    )
    .get(id, scope.queue, receipt ?? null) as
    | (Leaving & { readonly large: number | null })
    | undefined
  if (removed === undefined) return false
  if (removed.large !== null) scope.tx.sql('delete from large_data where id = ?').run(id)
  scope.queueRow.remove(removed.state)
  letNextThrough(scope, removed)
  return true
}

/** Takes out a message whose time is over. */
export function expire(scope: Scope, id: number): void {
  if (remove(scope, id)) scope.events.expired++
}

/**
 * Makes a message a dead letter. Later ones of its key are no longer blocked. A delay is kept for
 * when it returns.
 */
export function makeDeadLetter(scope: Scope, leaving: Leaving, reason: string): void {
  scope.tx
    .sql(
      `update messages
       set due_at = case when state in (${DELAYED}, ${BLOCKED}) then due_at end,
         state = ${DEAD}, session = null, reason = ?
       where id = ?`,
    )
    .run(reason, leaving.id)
  scope.queueRow.move(leaving.state, DEAD)
  scope.events.dead++
  letNextThrough(scope, leaving)
}

/** Makes a message wait until a time, or makes it ready if that has passed. */
export function putBack(scope: Scope, leaving: Leaving, dueAt: number): void {
  place(scope, leaving, dueAt > scope.tx.now ? DELAYED : READY, dueAt)
}

/** Makes a message wait for another one of its key, and then for a time. */
export function block(scope: Scope, leaving: Leaving, dueAt: number): void {
  place(scope, leaving, BLOCKED, dueAt)
}

function place({ tx, queueRow }: Scope, { id, state }: Leaving, to: number, dueAt: number): void {
  tx.sql('update messages set state = ?, due_at = ?, session = null where id = ?').run(
    to,
    dueAt > tx.now ? dueAt : null,
    id,
  )
  queueRow.move(state, to)
}

// The one that leaves was the first of its key, unless it was blocked or dead itself.
function letNextThrough(scope: Scope, { key, state }: Leaving): void {
  if (key === null || state === BLOCKED || state === DEAD) return
  const next = nextOfKey(scope, key)
  if (next !== undefined) putBack(scope, next, next.due_at ?? 0)
}

/** A message that others of its key have to do with. */
export interface KeyedMessage extends Leaving {
  readonly due_at: number | null
}

/** The message of this key that is neither blocked nor dead, if there is one. */
export function firstOfKey({ tx, queue }: Scope, key: string): KeyedMessage | undefined {
  return tx
    .sql(
      `select id, state, key, due_at from messages
       where queue = ? and key = ? and key is not null and state in (0, 1, 2)
       limit 1`,
    )
    .get(queue, key) as KeyedMessage | undefined
}

/** The oldest of this key that is blocked. */
export function nextOfKey({ tx, queue }: Scope, key: string): KeyedMessage | undefined {
  return tx
    .sql(
      `select id, state, key, due_at from messages
       where queue = ? and key = ? and key is not null and state = ${BLOCKED}
       order by id limit 1`,
    )
    .get(queue, key) as KeyedMessage | undefined
}
