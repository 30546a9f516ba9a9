import { resolveBackoff } from '../../base/time/backoff.ts'
import type { Clock } from '../../base/time/clock.ts'
import { retry } from '../../base/time/retry.ts'
import { isRetryableStoreError, type StoreError } from '../../store/store-error.ts'

// After about ten seconds without an answer, the caller gets the error.
const MAX_SENDS = 8
const RESEND = resolveBackoff('resend', { initial: 50, max: 3_000 })
const LOCKED = resolveBackoff('resend after a lock', { initial: 20, max: 1_000 })
const UNANSWERED = resolveBackoff('calls without an answer', { initial: 100, max: 100, jitter: 0 })

/**
 * Calls the store, and again when it could not answer. Only for calls that the store recognises as
 * duplicates, or where `isSafe` tells that the first call had no effect. A call that another transaction
 * blocks is sent again until that transaction ends.
 */
export async function resend<T>(
  clock: Clock,
  call: () => Promise<T>,
  isSafe: (error: StoreError) => boolean = () => true,
): Promise<T> {
  const isResent = (error: unknown): error is StoreError =>
    isRetryableStoreError(error) && isSafe(error)
  const untilUnlocked = (): Promise<T> =>
    retry(call, {
      clock,
      backoff: LOCKED,
      shouldRetry: (error) => isResent(error) && error.code === 'locked',
    })
  return retry(untilUnlocked, {
    clock,
    backoff: RESEND,
    shouldRetry: (error, failures) => isResent(error) && failures < MAX_SENDS,
  })
}

/**
 * Reads from the store, and again when the connection was lost on the way: no harm is done by reading
 * twice. A statement that took too long is not sent again.
 */
export async function readAgain<T>(
  clock: Clock,
  closing: AbortSignal,
  read: () => Promise<T>,
): Promise<T> {
  return resend(clock, read, ({ code }) => code === 'connection_lost' && !closing.aborted)
}

/** Calls the store until it answers, or until the runtime is closing. */
export async function untilAnswered<T>(
  clock: Clock,
  isClosing: () => boolean,
  call: () => Promise<T>,
): Promise<T> {
  return retry(call, {
    clock,
    backoff: UNANSWERED,
    shouldRetry: (error) => isRetryableStoreError(error) && !isClosing(),
  })
}
