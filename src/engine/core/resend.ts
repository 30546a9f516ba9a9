import { backoffMs, resolveBackoff } from '../../base/time/backoff.ts'
import { type Clock, sleep } from '../../base/time/clock.ts'
import { StoreError } from '../../store/store-error.ts'

// A store that does not answer for about ten seconds is the caller's to deal with.
const MOST_SENDS = 8
const RESEND = resolveBackoff('resend', { initial: 50, max: 3_000 })
const LOCKED = resolveBackoff('resend of what is locked', { initial: 20, max: 1_000 })

/**
 * Calls a store, again when it could not answer. Only for what the store recognises when it comes
 * twice, or when `isSafe` says that the first call cannot have been done. What another transaction has
 * locked is sent again until that one ends.
 */
export async function resend<T>(
  clock: Clock,
  call: () => Promise<T>,
  isSafe: (error: StoreError) => boolean = () => true,
): Promise<T> {
  let failures = 0
  let locked = 0
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const again = error instanceof StoreError && error.retryable && isSafe(error)
      if (!again) throw error
      if (error.code === 'locked') {
        await sleep(clock, backoffMs(LOCKED, ++locked, Math.random))
      } else {
        if (++failures >= MOST_SENDS) throw error
        await sleep(clock, backoffMs(RESEND, failures, Math.random))
      }
    }
  }
}

/** Calls the store until it answers, or until there is nobody left to wait for that. */
export async function untilAnswered<T>(
  clock: Clock,
  isClosing: () => boolean,
  call: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const again = error instanceof StoreError && error.retryable && !isClosing()
      if (!again) throw error
      await sleep(clock, 100)
    }
  }
}
