import { backoffMs, type ResolvedBackoff } from './backoff.ts'
import { type Clock, sleep } from './clock.ts'

/** Which failures are retried, and how long each retry waits. */
export interface RetryOptions {
  readonly clock: Clock
  readonly backoff: ResolvedBackoff
  /** For the jitter. @default Math.random */
  readonly random?: () => number
  /** Ends a wait: the error before it is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Whether to call again after the n-th failure. False throws the error; it may throw another. */
  readonly shouldRetry: (error: unknown, failures: number) => boolean
  /** Called before each wait: for the log. */
  readonly onRetry?: (error: unknown, delayMs: number) => void
  /** How to wait, where something else than time or the signal may end it. */
  readonly wait?: (ms: number) => Promise<void>
}

/** Calls `action` until it succeeds, or fails in a way that `shouldRetry` gives up on. */
export async function retry<T>(action: () => T | Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, backoff, random = Math.random, signal, shouldRetry, onRetry } = options
  const wait = options.wait ?? ((ms: number) => sleep(clock, ms, signal))
  for (let failures = 1; ; failures++) {
    try {
      return await action()
    } catch (error) {
      if (!shouldRetry(error, failures) || signal?.aborted === true) throw error
      const delayMs = Math.ceil(backoffMs(backoff, failures, random))
      onRetry?.(error, delayMs)
      await wait(delayMs).catch(() => {
        throw error
      })
    }
  }
}
