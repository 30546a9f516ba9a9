import type { Standing } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'
import type { Scope } from './messages.ts'
import { DELAYED, IN_FLIGHT } from './tally.ts'

/** How a queue stands. */
export function standingOf({ tx, queue, tally, happened }: Scope, shared: boolean): Standing {
  return { now: tx.now, counts: tally.counts, nextDueAt: nextDueAt(tx, queue), shared, happened }
}

/** Whether something has fallen due that nobody has seen to yet. */
export function isSomethingDue(tx: Transaction, queue: number): boolean {
  const next = nextDueAt(tx, queue)
  return next !== null && next <= tx.now
}

// Three looks at the first entry of an index each.
function nextDueAt(tx: Transaction, queue: number): number | null {
  const { delay, lease, expiry } = tx
    .sql(
      `select
         (select min(due_at) from messages
          where queue = ? and state = ${DELAYED} and due_at is not null) as delay,
         (select min(due_at) from messages
          where queue = ? and state = ${IN_FLIGHT} and due_at is not null) as lease,
         (select min(expires_at) from messages
          where queue = ? and expires_at is not null and state in (0, 1, 4)) as expiry`,
    )
    .get(queue, queue, queue) as Record<'delay' | 'lease' | 'expiry', number | null>
  const first = Math.min(delay ?? Infinity, lease ?? Infinity, expiry ?? Infinity)
  return first === Infinity ? null : first
}
