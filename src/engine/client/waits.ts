// The waits of a client: each has a timeout and a signal, and closing the client ends them all.
//
//   - A wait ends as soon as its timeout or signal fires, even while the store does not answer.
//   - Closing rejects every wait at once, and later ones as well. Such a rejection is expected, so it
//     does not end the process when the caller does not handle it.

import { Limit } from '../../base/sync/limit.ts'
import type { Clock } from '../../base/time/clock.ts'
import { TimeoutError } from '../../base/errors.ts'
import { onAbort } from '../../base/sync/on-abort.ts'
import { StoreError } from '../../store/store-error.ts'
import type { ResolvedWait } from './poll.ts'

/** The waits of a client. */
export class Waits {
  readonly #clock: Clock
  /** With the name of each, for errors. */
  readonly #open = new Map<Limit, string>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Runs a function with a limit that aborts on timeout, by the signal, or when the client is closed.
   * `id` is the instance that it waits for.
   */
  within<T>(
    what: string,
    { timeout, signal }: ResolvedWait,
    run: (limit: Limit) => Promise<T>,
    id?: string,
  ): Promise<T> {
    // Without async functions, which would create several more promises for every call of a client.
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
      const ended = this.#clock.awaited?.({ what, id, fail: (error) => limit.abort(error) })
      const settle =
        <V>(how: (value: V) => void) =>
        (value: V): void => {
          this.#open.delete(limit)
          timer?.cancel()
          stopListening?.()
          ended?.()
          how(value)
        }
      const fail = settle(reject)
      onAbort(limit, () => fail(limit.reason))
      run(limit).then(settle(resolve), fail)
    })
  }

  /** Rejects all waits. */
  close(): void {
    this.#closed = true
    for (const [limit, what] of this.#open) {
      limit.abort(new StoreError('closed', what, 'the client was closed during the wait'))
    }
  }
}

/** Calls a function. The caller need not handle a rejection of the promise by `close`. */
export function quietWhenClosed<T>(call: () => Promise<T>): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    call().then(resolve, (error: unknown) => {
      if (error instanceof StoreError && error.code === 'closed') promise.catch(() => {})
      reject(error)
    })
  })
  return promise
}
