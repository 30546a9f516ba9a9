import { MAX_OUTBOX_MOVED } from '../../store/constants.ts'
import type { Transaction } from '../file/database.ts'
import { takePositions } from './positions.ts'
import { perPrefix } from './tables.ts'

const SQL = perPrefix((t) => ({
  due: `
    select due_at as dueAt, id, partition from ${t.delayed}
    where due_at <= ?
    order by due_at, id
    limit ?`,
  enter: `
    insert into ${t.messages}
      (partition, position, id, enqueued_at, expires_at, key, headers, payload)
    select partition, ?, id, enqueued_at, expires_at, key, headers, payload
    from ${t.delayed} where due_at = ? and id = ?`,
  remove: `delete from ${t.delayed} where due_at = ? and id = ?`,
  next: `select min(due_at) as at from ${t.delayed}`,
}))

/** What was moved. */
export interface Moved {
  readonly clock: number
  readonly partitions: readonly number[]
  readonly nextAt: number | null
}

/** Puts delayed messages that are due into their partitions, behind all others, in the order of their times. */
export function moveDelayed(tx: Transaction, prefix: string): Moved {
  const { due, enter, remove } = SQL(prefix)
  const rows = tx.sql(due).all(tx.now, MAX_OUTBOX_MOVED) as {
    dueAt: number
    id: number
    partition: number
  }[]
  let position = rows.length === 0 ? 0 : takePositions(tx, prefix, rows.length)
  for (const { dueAt, id } of rows) {
    tx.sql(enter).run(position++, dueAt, id)
    tx.sql(remove).run(dueAt, id)
  }
  const partitions = [...new Set(rows.map(({ partition }) => partition))]
  return { clock: tx.now, partitions, nextAt: nextDelayed(tx, prefix) }
}

/** When the next delayed messages are due. */
export function nextDelayed(tx: Transaction, prefix: string): number | null {
  return (tx.sql(SQL(prefix).next).get() as { at: number | null }).at
}
