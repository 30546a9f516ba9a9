import { onAbort } from '../sync/on-abort.ts'
import { flag, resolveOptions } from '../options.ts'
import { checkSignal } from '../sync/signal.ts'

/** A timer that has been set. Cancelling one that fired or was cancelled is harmless. */
export interface Timer {
  cancel(): void
}

/**
 * What a timer is for, if nothing depends on it. A virtual clock that moves by itself does not move for
 * the sake of such a timer.
 *
 *   - `interval`: it is set again and again, for as long as something runs.
 *   - `poll`: it looks for what a notification usually announces, and may fire early.
 */
export type TimerKind = 'interval' | 'poll'

/** A call that waits, as a virtual clock sees it. */
export interface ClockWait {
  /** What waits, for messages. */
  readonly what: string
  /** The instance that it waits for, if it waits for one. */
  readonly id?: string | undefined
  /** Ends the wait with an error. */
  fail(error: Error): void
}

/**
 * Where time comes from. Everything that waits takes a clock, so that tests can move it by hand
 * (`virtualClock` from `holdfast/testing`).
 */
export interface Clock {
  /** Milliseconds that only ever grow, for measuring. Unrelated to the date. */
  now(): number
  /** What a calendar shows, for people and records. Never for measuring. */
  date(): Date
  /** Calls `fire` once, `ms` from now. */
  after(ms: number, fire: () => void, kind?: TimerKind): Timer
  /** Lets everything else that is ready in this process run first. */
  yield(): Promise<void>
  /** Calls code that may take real time. A virtual clock does not move by itself until it has ended. */
  running?<T>(code: () => T): T
  /**
   * A caller waits. A virtual clock moves by itself only while there is one; call the result when the
   * wait has ended.
   */
  awaited?(wait: ClockWait): () => void
}

// Node turns a longer timeout into 1 ms, so a longer wait is cut into pieces of this.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/**
 * The machine's clock.
 *
 * Its timers keep the process alive, as `setTimeout` does, unless `unref` is true.
 */
export function systemClock(options: { unref?: boolean } = {}): Clock {
  const { unref } = resolveOptions('systemClock', options, { unref: flag(false) })
  return {
    now: () => performance.now(),
    date: () => new Date(),
    after(ms, fire) {
      let handle: NodeJS.Timeout
      const arm = (leftMs: number): void => {
        const piece = Math.min(leftMs, LONGEST_TIMEOUT_MS)
        handle = setTimeout(() => (leftMs > piece ? arm(leftMs - piece) : fire()), piece)
        if (unref) handle.unref()
      }
      arm(ms)
      return { cancel: () => clearTimeout(handle) }
    },
    yield: () => new Promise((resolve) => setImmediate(resolve)),
  }
}

/** Waits `ms`, or rejects with the signal's reason when that comes first. */
export function sleep(
  clock: Clock,
  ms: number,
  signal?: AbortSignal,
  kind?: TimerKind,
): Promise<void> {
  return new Promise((resolve, reject) => {
    checkSignal(signal, 'sleep')
    if (signal?.aborted) return reject(signal.reason as Error)
    const end = (): void => {
      stopListening?.()
      resolve()
    }
    const timer = clock.after(ms, end, kind)
    const stopListening =
      signal &&
      onAbort(signal, () => {
        timer.cancel()
        reject(signal.reason as Error)
      })
  })
}
