import type { Delivery } from '../../store/inbox.ts'
import type { Arrival } from './arrival.ts'
import { type LiveInstance, lastTurnOf } from './live-instance.ts'
import type { TurnOutput } from './turn-output.ts'

/**
 * What completed here for an instance that was taken over. Its owner gets it, and need not run it again.
 * Failures are not handed over: the owner may be retrying, and succeed.
 */
export function finishedResults(
  instance: LiveInstance,
  { events }: TurnOutput,
): readonly Delivery[] {
  return [...events, ...instance.inbox.arrivals.map(({ event }) => event)].flatMap((event) =>
    event.type === 'completed' ? [delivery(instance, event)] : [],
  )
}

/**
 * What ended here for a suspended instance, and no turn has recorded. No other runtime runs it, so final
 * failures are kept as well. What came from the inbox is still there.
 */
export function unrecordedResults(instance: LiveInstance): readonly Delivery[] {
  return instance.inbox.arrivals.flatMap(({ event, inboxId }) =>
    inboxId === undefined && (event.type === 'completed' || event.type === 'failed')
      ? [delivery(instance, event)]
      : [],
  )
}

type Result = Extract<Arrival['event'], { type: 'completed' | 'failed' }>

function delivery(instance: LiveInstance, event: Result): Delivery {
  const { iid, execution } = instance
  const { type: kind, command } = event
  const payload = event.type === 'completed' ? event.value : event.error
  return { iid, kind, execution, command, payload, known: lastTurnOf(instance) }
}
