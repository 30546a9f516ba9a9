import { MAX_OUTBOX_READ_BYTES } from '../../store/constants.ts'
import type { StoredMessage } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { firstLater, type PartitionRow } from './partition-row.ts'
import { perPrefix } from './tables.ts'
import { dueWaiting, hasWaiting, nextWaitingAt, waitingKeys } from './waiting.ts'

/** What there is to deliver of a partition. */
export interface Read {
  readonly messages: readonly StoredMessage[]
  /** Of those that wait apart. */
  readonly due: readonly StoredMessage[]
  readonly waitingKeys: readonly string[]
  readonly dueAt: number | null
  /** Before when nothing of the partition is delivered but what waits apart. */
  readonly ownDueAt: number | null
}

// Large ones are not all read before the limit of bytes is noticed.
const PAGE = 50

const SQL = perPrefix((t) => ({
  after: `
    select position, id, key, payload, headers, enqueued_at as enqueuedAt, expires_at as expiresAt
    from ${t.messages}
    where partition = ? and position > ?
    order by position
    limit ?`,
  positions: `
    select position from ${t.messages}
    where partition = ? and position > ?
    order by position
    limit ?`,
}))

/** Reads up to `limit` messages after the cursor, and as many of those that wait apart. */
export function readPartitionMessages(
  tx: Transaction,
  prefix: string,
  row: PartitionRow,
  limit: number,
): Read {
  const { partition, dueAt } = row
  const isDelayed = dueAt !== null && dueAt > tx.now
  const later = firstLater(row, tx.now)
  const messages = isDelayed ? [] : readMessages(tx, prefix, row, limit, later?.position)
  // Where nothing comes before the first one whose time has not come, the partition waits for it.
  const isAtLater = limit > 0 && messages.length === 0 && later !== undefined
  const ownDueAt = isDelayed ? dueAt : isAtLater ? later.at : null
  if (!hasWaiting(tx, prefix, partition)) {
    return { messages, due: [], waitingKeys: [], dueAt: ownDueAt, ownDueAt }
  }
  return {
    messages,
    due: readDue(tx, prefix, partition, limit),
    waitingKeys: waitingKeys(tx, prefix, partition, keysOf(messages)),
    dueAt: earliest(ownDueAt, nextWaitingAt(tx, prefix, partition)),
    ownDueAt,
  }
}

function keysOf(messages: readonly StoredMessage[]): ReadonlySet<string> {
  return new Set(messages.flatMap(({ key }) => key ?? []))
}

/** A message as its row has it. */
type Unnumbered = Omit<StoredMessage, 'seq' | 'failures'>

/** The positions of the first so many messages after the cursor that are not done. */
export function undonePositions(
  tx: Transaction,
  prefix: string,
  { partition, cursor, done }: PartitionRow,
  count: number,
): readonly number[] {
  const isDone = new Set(done)
  const rows = tx.sql(SQL(prefix).positions).all(partition, cursor, count + done.length) as {
    position: number
  }[]
  return rows
    .map(({ position }) => position)
    .filter((position) => !isDone.has(position))
    .slice(0, count)
}

function readMessages(
  tx: Transaction,
  prefix: string,
  row: PartitionRow,
  limit: number,
  before = Infinity,
): readonly StoredMessage[] {
  const statement = tx.sql(SQL(prefix).after)
  const isDone = new Set(row.done)
  const batch = new Batch(limit)
  let { cursor, seq } = row
  while (!batch.isFull) {
    const size = Math.min(PAGE, limit - batch.messages.length + isDone.size)
    const page = statement.all(row.partition, cursor, size) as Unnumbered[]
    for (const message of page) {
      if (message.position >= before) return batch.messages
      cursor = message.position
      seq++
      if (isDone.has(cursor)) continue
      if (!batch.add({ ...message, seq, failures: row.failures.get(cursor) ?? 0 })) break
    }
    if (page.length < size) break
  }
  return batch.messages
}

function readDue(
  tx: Transaction,
  prefix: string,
  partition: number,
  limit: number,
): readonly StoredMessage[] {
  const batch = new Batch(limit)
  for (let offset = 0; !batch.isFull; offset += PAGE) {
    const page = dueWaiting(tx, prefix, partition, Math.min(PAGE, limit), offset)
    for (const message of page) if (!batch.add({ ...message })) break
    if (page.length < PAGE) break
  }
  return batch.messages
}

/** Messages, up to a number of them and of bytes; the first has any size. */
class Batch {
  readonly messages: StoredMessage[] = []
  readonly #limit: number
  #bytes = 0
  #isOver = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.#isOver || this.messages.length >= this.#limit
  }

  /** Returns whether it had room. */
  add(message: StoredMessage): boolean {
    if (this.isFull) return false
    const bytes = Buffer.byteLength(message.payload)
    if (this.messages.length > 0 && this.#bytes + bytes > MAX_OUTBOX_READ_BYTES) {
      this.#isOver = true
      return false
    }
    this.#bytes += bytes
    this.messages.push(message)
    return true
  }
}

function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
