import type { Transaction } from '../file/database.ts'
import { perPrefix } from './tables.ts'

/** A partition, as it is stored. */
export interface PartitionRow {
  readonly partition: number
  readonly owner: number | null
  readonly epoch: number
  readonly cursor: number
  readonly seq: number
  /** How many messages after the cursor the owner is busy with. */
  readonly handed: number
  /** How many of those that wait apart it is busy with. */
  readonly handedWaiting: number
  readonly done: readonly number[]
  readonly failures: ReadonlyMap<number, number>
  readonly later: ReadonlyMap<number, number>
  readonly dueAt: number | null
}

interface Stored extends Omit<PartitionRow, 'done' | 'failures' | 'later'> {
  readonly done: string
  readonly failures: string
  readonly later: string
}

const SQL = perPrefix((t) => ({
  find: `
    select partition, owner, epoch, cursor, seq, handed, handed_waiting as handedWaiting, done, failures,
      later, due_at as dueAt
    from ${t.partitions} where partition = ?`,
  save: `
    update ${t.partitions}
    set owner = ?, epoch = ?, cursor = ?, seq = ?, handed = ?, handed_waiting = ?, done = ?, failures = ?,
      later = ?, due_at = ?
    where partition = ?`,
}))

/** Reads a partition; `undefined` when there is none with this number. */
export function readPartition(
  tx: Transaction,
  prefix: string,
  partition: number,
): PartitionRow | undefined {
  const row = tx.sql(SQL(prefix).find).get(partition) as Stored | undefined
  if (row === undefined) return undefined
  return {
    ...row,
    done: JSON.parse(row.done) as number[],
    failures: new Map(JSON.parse(row.failures) as [number, number][]),
    later: new Map(JSON.parse(row.later) as [number, number][]),
  }
}

/** Writes a partition back. */
export function savePartition(tx: Transaction, prefix: string, row: PartitionRow): void {
  const { owner, epoch, cursor, seq, handed, handedWaiting, done, failures, later, dueAt } = row
  tx.sql(SQL(prefix).save).run(
    owner,
    epoch,
    cursor,
    seq,
    handed,
    handedWaiting,
    JSON.stringify(done),
    JSON.stringify([...failures]),
    JSON.stringify([...later]),
    dueAt,
    row.partition,
  )
}

/** The first message behind the cursor whose own time has not come. */
export function firstLater(
  { later }: PartitionRow,
  now: number,
): { readonly position: number; readonly at: number } | undefined {
  let first: { readonly position: number; readonly at: number } | undefined
  for (const [position, at] of later) {
    if (at > now && (first === undefined || position < first.position)) first = { position, at }
  }
  return first
}
