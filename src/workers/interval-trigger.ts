import type { Clock, Timer } from '../base/time/clock.ts'
import type { Notify } from '../base/sync/notify.ts'

/** Wakes a notify at a fixed interval. */
export interface IntervalTrigger {
  /** When it fires next, in the clock's milliseconds. */
  readonly nextAtMs: number
  stop(): void
}

/**
 * Calls `notifyOne` every `ms`, the first time after one full interval.
 *
 * It stays aligned to its start. Intervals that a stalled process missed are skipped: they would
 * collapse into one permit anyway.
 */
export function startIntervalTrigger(clock: Clock, ms: number, target: Notify): IntervalTrigger {
  let nextAtMs = clock.now() + ms
  let timer: Timer
  const fire = (): void => {
    const late = clock.now() - nextAtMs
    nextAtMs += ms * (1 + Math.max(0, Math.floor(late / ms)))
    timer = clock.after(nextAtMs - clock.now(), fire, 'interval')
    target.notifyOne()
  }
  timer = clock.after(ms, fire, 'interval')
  return {
    get nextAtMs() {
      return nextAtMs
    },
    stop: () => timer.cancel(),
  }
}
