import type { PartitionStats } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { firstLater, type PartitionRow, readPartition } from './partition-row.ts'
import { perPrefix } from './tables.ts'

/** How full partitions are. */
export interface Stats {
  readonly clock: number
  readonly partitions: readonly PartitionStats[]
}

interface Count {
  readonly count: number
  readonly oldest: number | null
}

const SQL = perPrefix((t) => ({
  partitions: `
    select partition from ${t.partitions} where topic in (select value from json_each(?))`,
  messages: `
    select count(*) as count, min(enqueued_at) as oldest, count(*) filter (where position < ?) as ready
    from ${t.messages}
    where partition = ? and position > ? and position not in (select value from json_each(?))`,
  waiting: `
    select count(*) as count, min(enqueued_at) as oldest from ${t.waiting} where partition = ?`,
  due: `
    select count(*) as count from ${t.waiting}
    where partition = ? and due_at is not null and due_at <= ?`,
  // Before it is due, no process is late with it.
  delayed: `
    select count(*) as count, min(due_at) filter (where due_at <= ?) as oldest
    from ${t.delayed} where partition = ?`,
}))

/** Counts the messages in the partitions of these topics: for people. */
export function outboxStats(tx: Transaction, prefix: string, topics: readonly number[]): Stats {
  const rows = tx.sql(SQL(prefix).partitions).all(JSON.stringify(topics)) as { partition: number }[]
  const partitions = rows
    .toSorted((a, b) => a.partition - b.partition)
    .map(({ partition }) => statsOf(tx, prefix, readPartition(tx, prefix, partition)!))
  return { clock: tx.now, partitions }
}

function statsOf(tx: Transaction, prefix: string, row: PartitionRow): PartitionStats {
  const { partition, cursor, done, dueAt } = row
  const sql = SQL(prefix)
  // Nothing from there on is delivered now.
  const end = firstLater(row, tx.now)?.position ?? Number.MAX_SAFE_INTEGER
  const messages = tx
    .sql(sql.messages)
    .get(end, partition, cursor, JSON.stringify(done)) as Count & { ready: number }
  const waiting = tx.sql(sql.waiting).get(partition) as Count
  const due = tx.sql(sql.due).get(partition, tx.now) as { count: number }
  const delayed = tx.sql(sql.delayed).get(tx.now, partition) as Count
  const isDelayed = dueAt !== null && dueAt > tx.now
  const oldest = [messages, waiting, delayed].flatMap((one) => one.oldest ?? [])
  return {
    partition,
    depth: messages.count + waiting.count + delayed.count,
    ready: (isDelayed ? 0 : messages.ready) + due.count,
    delayed: delayed.count,
    oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
  }
}
