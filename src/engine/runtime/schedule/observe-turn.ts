import type { LiveInstance } from '../../instance/live-instance.ts'
import type { TurnOutput } from '../../instance/turn-output.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

/**
 * A turn begins. Call the result once its code waits: the turn is reported when it is committed, and
 * never if that fails or nothing was new. `undefined` if nothing is measured.
 */
export function observeTurn(
  { clock, time, meter, tracer }: RuntimeCore,
  instance: LiveInstance,
): ((output: TurnOutput) => void) | undefined {
  if (meter === undefined && tracer === undefined) return undefined
  const { past, isUntouched } = instance
  const isFirst = !instance.isStarted || isUntouched
  const begunMs = clock.now()
  const begunAt = time.now()
  const startTime = clock.date().getTime()
  return ({ traces: links }) => {
    const tookMs = clock.now() - begunMs
    const sinceStartMs = isFirst ? Math.max(0, begunAt - instance.startedAt) : undefined
    instance.afterCommit((row) => {
      if (row === null) return
      meter?.turn(instance.definition.name, tookMs, sinceStartMs)
      const wasReplayed = past !== undefined && !isUntouched
      const { turn, count: events } = row
      tracer?.turn(instance, { turn, events, startTime, wasReplayed, links })
    })
  }
}
