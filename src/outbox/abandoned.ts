import type { Settlement } from '../store/outbox-store.ts'
import type { ReadPartition, RetryPolicy } from './settlement.ts'

/**
 * What to write about messages whose process died, before they are tried again: `null` for nothing. The store
 * has counted the death as a failed attempt of each of them. If there were several, most are innocent, and some
 * may never have reached a handler. So none of them becomes a dead letter for it: its last attempt is one that
 * the message has to itself.
 */
export function leaveLastAttempt(
  { abandoned, cursor, done, failures, later, messages, dueAt }: ReadPartition,
  { whenStuck, maxAttempts }: RetryPolicy,
): Settlement | null {
  if (abandoned <= 1 || whenStuck !== 'park') return null
  const spared = new Map(
    [...failures].map(([position, count]) => [position, Math.min(count, maxAttempts - 1)]),
  )
  if ([...failures].every(([position, count]) => spared.get(position) === count)) return null
  return {
    cursor,
    to: cursor,
    passed: 0,
    done,
    failures: spared,
    later,
    // What was read was due.
    dueAt: messages.length > 0 ? null : dueAt,
    dead: [],
    deferred: [],
    waiting: [],
  }
}
