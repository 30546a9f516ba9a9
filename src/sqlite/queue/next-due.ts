import type { Transaction } from '../file/database.ts'
import { DELAYED, IN_FLIGHT } from './queue-row.ts'

/** Later than anything that can fall due. */
const NEVER = Number.MAX_SAFE_INTEGER

/** SQL for when something falls due in a queue: reads the first entry of three indexes. */
export function nextDueSql(queue: string): string {
  return `nullif(min(
    ifnull((select min(due_at) from messages
      where queue = ${queue} and state = ${DELAYED} and due_at is not null), ${NEVER}),
    ifnull((select min(due_at) from messages
      where queue = ${queue} and state = ${IN_FLIGHT} and due_at is not null), ${NEVER}),
    ifnull((select min(expires_at) from messages
      where queue = ${queue} and expires_at is not null and state in (0, 1, 4)), ${NEVER})
  ), ${NEVER})`
}

const NEXT_DUE = `select ${nextDueSql('?')} as next`

/** When something falls due. */
export function nextDueAt(tx: Transaction, queue: number): number | null {
  return (tx.sql(NEXT_DUE).get(queue, queue, queue) as { next: number | null }).next
}

/** Whether that time has come. */
export function isDue(tx: Transaction, at: number | null): boolean {
  return at !== null && at <= tx.now
}
