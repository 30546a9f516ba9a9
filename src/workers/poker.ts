import type { Clock, Timer } from '../base/time/clock.ts'
import type { Notify } from '../base/sync/notify.ts'

/** Wakes a notify again and again. */
export interface Poker {
  /** When the next poke comes, in the clock's milliseconds. */
  readonly nextAtMs: number
  stop(): void
}

/**
 * Calls `notifyOne` every `ms`, the first time after one full interval.
 *
 * Pokes keep to the beat of the start. Beats that a stalled process missed are left out: they
 * would collapse into one permit anyway.
 */
export function startPoker(clock: Clock, ms: number, target: Notify): Poker {
  let nextAtMs = clock.now() + ms
  let timer: Timer
  const poke = (): void => {
    const late = clock.now() - nextAtMs
    nextAtMs += ms * (1 + Math.max(0, Math.floor(late / ms)))
    timer = clock.after(nextAtMs - clock.now(), poke)
    target.notifyOne()
  }
  timer = clock.after(ms, poke)
  return {
    get nextAtMs() {
      return nextAtMs
    },
    stop: () => timer.cancel(),
  }
}
