import type { QueueState } from '../../store/queue-store.ts'
import type { Scope } from './messages.ts'

/** The state of a queue at the end of a transaction. */
export function queueStateOf(scope: Scope, shared: boolean, nextDueAt: number | null): QueueState {
  const { tx, queueRow, events } = scope
  return { now: tx.now, counts: queueRow.counts, nextDueAt, shared, events }
}
