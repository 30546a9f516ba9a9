import { backoffMs, resolveBackoff } from '../../base/time/backoff.ts'
import { StoreError } from '../../store/store-error.ts'
import { isBusy, toStoreError } from '../connect/sqlite-error.ts'

// SQLite's own waiting sleeps longer and longer without jitter, up to 100 ms, so that with several
// processes on a file some starve. Locks are held for one transaction, about as long as an fsync
// takes: short sleeps with jitter find the gap.
export const LOCK_BACKOFF = resolveBackoff('locked file', { initial: 0.5, max: 10, jitter: 0.5 })

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/**
 * Retries what may find the file locked by another process, until it is free.
 *
 * Not `retry()`: it blocks the thread, which has nothing else to do. `attempt` must leave nothing
 * behind when it throws.
 */
export function untilFree<T>(operation: string, limitMs: number, attempt: () => T): T {
  const start = performance.now()
  for (let failures = 1; ; failures++) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error)) throw toStoreError(operation, error)
      const waitedMs = Math.round(performance.now() - start)
      if (waitedMs >= limitMs) {
        throw new StoreError(
          'busy',
          operation,
          `another process holds the lock on the file, waited ${waitedMs} ms`,
          { cause: error },
        )
      }
      Atomics.wait(sleeper, 0, 0, backoffMs(LOCK_BACKOFF, failures, Math.random))
    }
  }
}
