import type { Standing } from '../../store/queue-store.ts'
import type { Scope } from './messages.ts'

/** How a queue stands at the end of a transaction, where this falls due next. */
export function standingOf(scope: Scope, shared: boolean, nextDueAt: number | null): Standing {
  const { tx, tally, happened } = scope
  return { now: tx.now, counts: tally.counts, nextDueAt, shared, happened }
}
