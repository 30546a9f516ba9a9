import type { QueueState } from '../../store/queue-store.ts'
import type { Scope } from './messages.ts'

/** How a queue stands at the end of a transaction, where this falls due next. */
export function queueStateOf(scope: Scope, shared: boolean, nextDueAt: number | null): QueueState {
  const { tx, queueRow, events } = scope
  return { now: tx.now, counts: queueRow.counts, nextDueAt, shared, events }
}
