import type { Clock, Timer } from '../base/time/clock.ts'
import { type Duration, duration, durationMs } from '../base/time/duration.ts'
import { describe } from '../base/describe.ts'
import { Heap } from '../base/heap.ts'
import { option, resolveOptions } from '../base/options.ts'

// A clock that does not move until it is moved.
//
//   - Timers fire in the order of their time, those of one instant in the order they were set.
//   - After each timer everything it triggered runs to its end (microtasks and ticks), before the
//     next one fires. Real I/O is not waited for.
//   - A timer sees the time it was set for, never a later one.

/** A clock for tests: time passes only when `advance` or `until` says so. */
export interface VirtualClock extends Clock {
  /** How many timers are set. */
  readonly pending: number
  /** Moves time forward and runs everything that falls due on the way, in order. */
  advance(by: Duration): Promise<void>
  /**
   * Moves time on from timer to timer until the promise settles, and returns its value.
   *
   * Rejects when nothing is left that could settle it, or when more than `within` would pass.
   */
  until<T>(promise: Promise<T>, options?: { within?: Duration }): Promise<T>
}

const DAY_MS = 86_400_000
const MAX_PER_INSTANT = 10_000
const DEFAULT_START = new Date('2030-01-01T00:00:00Z')

// As it is now: a test that replaces timers later, as `vi.useFakeTimers()` does, must not stop us.
const { setImmediate } = globalThis

interface Scheduled {
  readonly setAtMs: number
  readonly fire: () => void
}

/** Creates a virtual clock; its date starts at `start`. */
export function virtualClock(options: { start?: Date } = {}): VirtualClock {
  const { start } = resolveOptions('virtual clock', options, { start: option(date, DEFAULT_START) })
  const startMs = start.getTime()
  const timers = new Heap<Scheduled>()
  let nowMs = 0
  let moving = false
  let rounds = 0

  const after = (ms: number, fire: () => void): Timer => {
    const scheduled: Scheduled = { setAtMs: nowMs, fire }
    timers.set(scheduled, nowMs + Math.max(0, ms))
    return { cancel: () => void timers.delete(scheduled) }
  }

  const fireNext = async (): Promise<void> => {
    const { key, at } = timers.peek()!
    if (at > nowMs) rounds = 0
    nowMs = at
    // Timers set earlier do not count: any number of them may fall due together.
    if (key.setAtMs === nowMs && ++rounds > MAX_PER_INSTANT) {
      throw new Error(
        `virtual clock: ${MAX_PER_INSTANT} timers were set at ${nowMs} ms for that instant, and time does not advance; something loops without waiting`,
      )
    }
    timers.pop()
    key.fire()
    await drained()
  }

  const exclusively = async (move: () => Promise<void>): Promise<void> => {
    if (moving)
      throw new Error('virtual clock: it is already being advanced; await the earlier call')
    moving = true
    rounds = 0
    try {
      await drained()
      await move()
    } finally {
      moving = false
    }
  }

  return {
    now: () => nowMs,
    date: () => new Date(startMs + nowMs),
    after,
    yield: () => new Promise((resolve) => void after(0, resolve)),
    get pending() {
      return timers.size
    },
    advance(by) {
      const ms = durationMs(by, 'virtual clock: advance')
      // A clock has fractions of a millisecond, unlike a store.
      const targetMs = nowMs + (typeof by === 'number' ? by : ms)
      return exclusively(async () => {
        while ((timers.peek()?.at ?? Infinity) <= targetMs) await fireNext()
        nowMs = targetMs
      })
    },
    async until(promise, given) {
      const { within } = resolveOptions('virtual clock: until', given, {
        within: duration(36_500 * DAY_MS),
      })
      const limitMs = nowMs + within
      let settled = false
      const settle = (): void => void (settled = true)
      promise.then(settle, settle)
      await exclusively(async () => {
        while (!settled) {
          const next = timers.peek()?.at
          if (next === undefined) {
            throw new Error('virtual clock: no timer is set and the promise is still pending')
          }
          if (next > limitMs) {
            throw new Error(`virtual clock: the promise is still pending at ${limitMs} ms`)
          }
          await fireNext()
        }
      })
      return promise
    },
  }
}

function date(value: unknown, what: string): Date {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value
  throw new TypeError(`${what} must be a valid Date, got ${describe(value)}`)
}

/** Resolves when every microtask and tick that is queued, or gets queued by those, has run. */
function drained(): Promise<void> {
  // Ticks and microtasks may queue each other to any depth; an immediate comes after all of them.
  return new Promise((resolve) => setImmediate(resolve))
}
