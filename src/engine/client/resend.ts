import { backoffMs, resolveBackoff } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { StoreError } from '../../store/store-error.ts'

// A store that does not answer for about ten seconds is the caller's to deal with.
const MOST_SENDS = 8
const RESEND = resolveBackoff('resend', { initial: 50, max: 3_000 })

/**
 * Calls a store, again when it could not answer. Only for what the store recognises when it comes
 * twice, or when `isSafe` says that the first call cannot have been done.
 */
export async function resend<T>(
  clock: Clock,
  call: () => Promise<T>,
  isSafe: (error: StoreError) => boolean = () => true,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await call()
    } catch (error) {
      const again = error instanceof StoreError && error.retryable && isSafe(error)
      if (!again || failures >= MOST_SENDS) throw error
      await sleep(clock, backoffMs(RESEND, failures, Math.random))
    }
  }
}
