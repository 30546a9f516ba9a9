import type { Transaction } from '../file/database.ts'
import { perPrefix } from './tables.ts'

const SQL = perPrefix((t) => ({
  take: `
    update ${t.store} set next_position = next_position + ?
    returning next_position - ? as first`,
}))

/**
 * The first of so many new positions, which follow each other. There is one writer at a time, so they are
 * in the order of the commits.
 */
export function takePositions(tx: Transaction, prefix: string, count: number): number {
  return (tx.sql(SQL(prefix).take).get(count, count) as { first: number }).first
}
