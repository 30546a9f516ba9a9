// The waits of a client: each has its limits, and closing the client ends them all.
//
//   - A wait ends the moment its limit is reached, whatever the store is doing: an answer that stays
//     out delays nobody.
//   - Closing rejects every wait at once, and nothing is waited for after that. Whoever closes knows
//     what that means: a rejection of this kind that nobody listens to does not end the process.

import { Limit } from '../../base/sync/limit.ts'
import type { Clock } from '../../base/time/clock.ts'
import { TimeoutError } from '../../base/errors.ts'
import { onAbort } from '../../base/sync/on-abort.ts'
import { StoreError } from '../../store/store-error.ts'
import type { ResolvedWait } from './poll.ts'

/** What a client waits for. */
export class Waits {
  readonly #clock: Clock
  /** Each with what it is called in errors. */
  readonly #open = new Map<Limit, string>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs something under a limit that aborts with those given, and when the client is closed. */
  within<T>(
    what: string,
    { timeout, signal }: ResolvedWait,
    run: (limit: Limit) => Promise<T>,
  ): Promise<T> {
    // By hand, since every call of a client comes through here: an async function with all that it
    // would await makes several promises more.
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        throw new StoreError('closed', what, 'the client is closed; open or connect another one')
      }
      const limit = new Limit()
      const stopListening = signal && onAbort(signal, () => limit.abort(signal.reason))
      const timer =
        timeout === undefined
          ? undefined
          : this.#clock.after(timeout, () =>
              limit.abort(new TimeoutError(`${what} took longer than ${timeout} ms`, timeout)),
            )
      this.#open.set(limit, what)
      const settle =
        <V>(how: (value: V) => void) =>
        (value: V): void => {
          this.#open.delete(limit)
          timer?.cancel()
          stopListening?.()
          how(value)
        }
      const fail = settle(reject)
      onAbort(limit, () => fail(limit.reason))
      run(limit).then(settle(resolve), fail)
    })
  }

  /** Rejects all of them at once, because the client closes. */
  close(): void {
    this.#closed = true
    for (const [limit, what] of this.#open) {
      limit.abort(new StoreError('closed', what, 'the client was closed while it was waited for'))
    }
  }
}

/** The promise that a caller waits for; closing rejects it. */
export function quietWhenClosed<T>(call: Promise<T>): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    call.then(resolve, (error: unknown) => {
      if (error instanceof StoreError && error.code === 'closed') promise.catch(() => {})
      reject(error)
    })
  })
  return promise
}
