import type { Delivery } from '../../store/inbox.ts'
import { type Copy, lastTurnOf, type TurnResult } from './copy.ts'

/**
 * What was completed here for an instance that was taken over: handed on, it is not done again by
 * whoever has the instance now. What failed is not: others may be at it, and succeed.
 */
export function finishedResults(copy: Copy, { events }: TurnResult): readonly Delivery[] {
  const { iid, generation, arrivals } = copy
  const known = lastTurnOf(copy)
  return [...events, ...arrivals.map(({ event }) => event)].flatMap((event): Delivery[] => {
    if (event.type !== 'completed') return []
    const { type: kind, command, value: payload } = event
    return [{ iid, kind, execution: generation, command, payload, known }]
  })
}
