// The waits of a client: each has its limits, and closing the client ends them all.
//
//   W1. A wait ends the moment its limit is reached, whatever the store is doing: an answer that stays
//       out delays nobody.
//   W2. Closing rejects every wait at once, and nothing is waited for after that. Whoever closes knows
//       what that means: a rejection of this kind that nobody listens to does not end the process.

import type { Clock } from '../../base/time/clock.ts'
import { TimeoutError } from '../../base/errors.ts'
import { onAbort, unlessAborted } from '../../base/sync/on-abort.ts'
import { StoreError } from '../../store/store-error.ts'
import type { ResolvedWait } from './wait.ts'

/** What a client waits for. */
export class Waits {
  readonly #clock: Clock
  readonly #open = new Set<() => void>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs something under a signal that aborts with its limits, and when the client is closed. */
  async within<T>(
    what: string,
    { timeout, signal }: ResolvedWait,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) {
      throw new StoreError('closed', what, 'the client is closed; open or connect another one')
    }
    const limit = new AbortController()
    const stopListening = signal && onAbort(signal, () => limit.abort(signal.reason))
    const timer =
      timeout === undefined
        ? undefined
        : this.#clock.after(timeout, () =>
            limit.abort(new TimeoutError(`${what} took longer than ${timeout} ms`, timeout)),
          )
    const close = (): void =>
      limit.abort(new StoreError('closed', what, 'the client was closed while it was waited for'))
    this.#open.add(close)
    try {
      return await unlessAborted(run(limit.signal), limit.signal)
    } finally {
      this.#open.delete(close)
      timer?.cancel()
      stopListening?.()
    }
  }

  /** Ends all of them: see W2. */
  close(): void {
    this.#closed = true
    for (const close of this.#open) close()
  }
}

/** The promise that a caller gets for something that is waited for: see W2. */
export function forCaller<T>(call: Promise<T>): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    call.then(resolve, (error: unknown) => {
      if (error instanceof StoreError && error.code === 'closed') promise.catch(() => {})
      reject(error)
    })
  })
  return promise
}
