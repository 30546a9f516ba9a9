import type { Change } from '../../store/queue-store.ts'
import type { Scope } from './messages.ts'
import { IN_FLIGHT } from './queue-row.ts'

/** One statement removes this many messages, in half the time that one statement each takes. */
export const ACKS_AT_ONCE = 32

// Messages with a key, or with large data, are deleted one by one.
const ACKNOWLEDGED = `from messages
  where id in (${Array.from({ length: ACKS_AT_ONCE }, () => '?').join(', ')}) and queue = ?
    and receipt = ? and state = ${IN_FLIGHT} and key is null and large is null`

/**
 * Takes out `ACKS_AT_ONCE` messages of the same receipt, if all of them are there to be taken out
 * and no two are the same. Otherwise none; returns whether it did.
 */
export function acknowledgeTogether(
  { tx, queue, queueRow }: Scope,
  acks: readonly Change[],
): boolean {
  const values = [...acks.map(({ id }) => id), queue, acks[0]!.receipt]
  const { count } = tx.sql(`select count(*) as count ${ACKNOWLEDGED}`).get(...values) as {
    count: number
  }
  if (count < ACKS_AT_ONCE) return false
  tx.sql(`delete ${ACKNOWLEDGED}`).run(...values)
  queueRow.remove(IN_FLIGHT, ACKS_AT_ONCE)
  return true
}
