import type { Delivery } from '../../store/inbox.ts'
import type { Arrival } from './arrival.ts'
import { type LiveInstance, lastTurnOf } from './live-instance.ts'
import type { TurnOutput } from './turn-output.ts'

/**
 * What was completed here for an instance that was taken over: handed on, it is not done again by
 * its owner. What failed is not handed on: the owner may be at it, and succeed.
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
 * What came to an end here for an instance that is suspended, and that no turn recorded. Nothing else
 * is at it, so what finally failed is kept too. What came from the inbox is still there.
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
