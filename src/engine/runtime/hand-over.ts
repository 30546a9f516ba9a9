import type { Delivery } from '../../store/workflow-store.ts'
import type { Copy, TurnResult } from './copy.ts'

/**
 * What was finished here for an instance that was taken over: handed on, it is not done again by
 * whoever has the instance now.
 */
export function finishedResults(
  { iid, generation, arrivals }: Copy,
  { events }: TurnResult,
): readonly Delivery[] {
  return [...events, ...arrivals.map(({ event }) => event)].flatMap((event): Delivery[] => {
    if (event.type !== 'completed' && event.type !== 'failed') return []
    const payload = event.type === 'completed' ? event.value : event.error
    return [{ iid, kind: event.type, execution: generation, command: event.command, payload }]
  })
}
