import { type Duration, duration } from '../../base/time/duration.ts'
import { resolveOptions } from '../../base/options.ts'

/** How far the system time is off. Give one of the two. */
export interface Skew {
  /** It shows a later time than it should. */
  readonly ahead?: Duration
  /** It shows an earlier time than it should. */
  readonly behind?: Duration
}

/** A system time that is wrong until it is disposed of. */
export interface SkewedClock extends Disposable {
  /** Makes the time jump: from now on it is off by this. */
  set(skew: Skew): void
}

/**
 * Makes the system time of this process wrong: `new Date()`, `Date.now()` and everything that uses
 * them, in the code of Holdfast and in yours. Time still passes at its usual pace.
 *
 * That happens to machines whose clock is not set, or is set while they run. Workflows do not depend
 * on it: the database's clock decides what is due, and delays within a process are measured by a
 * clock that cannot be set.
 *
 * Threads, and timers that are already set, are not affected. Of several skewed clocks, the latest
 * one counts; dispose of them in reverse order, as `using` does.
 *
 * @example
 * using clock = skewClock({ ahead: '1h' })
 * const sleeper = await holdfast.start(nap, '2s') // wakes up in two seconds
 * clock.set({ behind: '10m' })
 */
export function skewClock(skew: Skew): SkewedClock {
  let byMs = skewMs(skew)
  const before = globalThis.Date
  const now = (): number => before.now() + byMs
  const skewed = new Proxy(before, {
    construct(target, args: unknown[], newTarget: NewableFunction) {
      const date = Reflect.construct(target, args, newTarget) as Date
      if (args.length === 0) date.setTime(date.getTime() + byMs)
      return date
    },
    apply: () => new skewed().toString(),
    get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
  })
  globalThis.Date = skewed
  return {
    set(given) {
      byMs = skewMs(given)
    },
    [Symbol.dispose]() {
      if (globalThis.Date === skewed) globalThis.Date = before
    },
  }
}

function skewMs(skew: Skew): number {
  const { ahead, behind } = resolveOptions('skewClock', skew, {
    ahead: duration(undefined),
    behind: duration(undefined),
  })
  if ((ahead === undefined) === (behind === undefined)) {
    throw new TypeError('skewClock: give either ahead or behind')
  }
  return ahead ?? -behind!
}
