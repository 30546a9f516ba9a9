import type { PartitionWork } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { isAlive } from '../operations/runtimes.ts'
import { type PartitionRow, readPartition } from './partition-row.ts'
import { undonePositions } from './read.ts'
import { perPrefix } from './tables.ts'
import { firstWaitingAt } from './waiting.ts'

/** What was found. */
export interface Found {
  readonly clock: number
  readonly work: readonly PartitionWork[]
}

// Each step goes to the next partition that has rows: the others cost nothing, however many there are.
const walk = (table: string): string => `
  with recursive used (partition) as (
    select min(partition) from ${table}
    union all
    select (select min(t.partition) from ${table} as t where t.partition > used.partition)
    from used where used.partition is not null
  )
  select partition from used where partition is not null`

const SQL = perPrefix((t) => ({ messages: walk(t.messages), waiting: walk(t.waiting) }))

/** The partitions without a live owner that have something to deliver, now or later. */
export function lookForWork(
  tx: Transaction,
  prefix: string,
  partitions: readonly number[] | null,
): Found {
  const alive = new Map<number, boolean>()
  const isOwned = ({ owner }: PartitionRow): boolean => {
    if (owner === null) return false
    const known = alive.get(owner) ?? isAlive(tx, owner)
    alive.set(owner, known)
    return known
  }
  const work = (partitions ?? usedPartitions(tx, prefix)).flatMap((partition) => {
    const row = readPartition(tx, prefix, partition)
    if (row === undefined || isOwned(row)) return []
    const dueAt = Math.min(messagesAt(tx, prefix, row), waitingAt(tx, prefix, partition))
    return dueAt === Infinity ? [] : [{ partition, dueAt, isBlocked: false }]
  })
  return { clock: tx.now, work }
}

/** The partitions that have messages, done or not, in their order. */
export function partitionsWithMessages(tx: Transaction, prefix: string): readonly number[] {
  return numbers(tx, SQL(prefix).messages)
}

function usedPartitions(tx: Transaction, prefix: string): readonly number[] {
  const waiting = numbers(tx, SQL(prefix).waiting)
  return [...new Set([...partitionsWithMessages(tx, prefix), ...waiting])]
}

function numbers(tx: Transaction, text: string): readonly number[] {
  return (tx.sql(text).all() as { partition: number }[]).map(({ partition }) => partition)
}

function messagesAt(tx: Transaction, prefix: string, row: PartitionRow): number {
  if (undonePositions(tx, prefix, row, 1).length === 0) return Infinity
  return row.dueAt ?? 0
}

function waitingAt(tx: Transaction, prefix: string, partition: number): number {
  return firstWaitingAt(tx, prefix, partition) ?? Infinity
}
