import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { brandOf, type Failure, isRetryable } from '../../base/errors.ts'
import { flag, list, number, oneOf, resolveOptions } from '../../base/options.ts'

/** A class created by `failure`, with any details. */
type AnyFailureClass = new (...args: never) => Failure<unknown>

/** When and how often to retry a failed activity. */
export interface Retry {
  /** The total number of attempts, including the first. @default 3 */
  maxAttempts?: number
  /**
   * How the delay grows: it doubles after each failure (`exponential`), grows by `delay` (`linear`),
   * stays the same (`fixed`), or there is no delay (`none`).
   *
   * @default 'exponential'
   */
  backoff?: 'exponential' | 'linear' | 'fixed' | 'none'
  /** The delay after the first failure. @default '1s' */
  delay?: Duration
  /** The longest delay. @default '1m', or `delay` if that is longer */
  maxDelay?: Duration
  /** Shortens each delay by a random amount of up to half, to spread out retries. @default true */
  jitter?: boolean
  /** Failure classes that are never retried. */
  unless?: readonly AnyFailureClass[]
}

/** `Retry`, validated and complete. */
export interface ResolvedRetry {
  readonly maxAttempts: number
  readonly backoff: 'exponential' | 'linear' | 'fixed' | 'none'
  readonly delayMs: number
  readonly maxDelayMs: number
  readonly jitter: boolean
  /** By name: a task may run in a process that does not have the failure classes. */
  readonly unless: readonly string[]
}

const TABLE = {
  maxAttempts: number({ min: 1, integer: true }, 3),
  backoff: oneOf(['exponential', 'linear', 'fixed', 'none'], 'exponential'),
  delay: duration(1_000),
  maxDelay: duration(60_000),
  jitter: flag(true),
  unless: list(failureClass),
}

/** Validates and completes a retry policy; `owner` begins the error message. */
export function resolveRetry(owner: string, given?: Retry): ResolvedRetry {
  const { delay, maxDelay, ...rest } = resolveOptions(owner, given, TABLE)
  // The default must not shorten a delay that was asked for.
  const maxDelayMs = given?.maxDelay === undefined ? Math.max(maxDelay, delay) : maxDelay
  return { ...rest, delayMs: delay, maxDelayMs }
}

/** Milliseconds until the next attempt; `undefined` for no further attempt. */
export function retryDelayMs(
  retry: ResolvedRetry,
  attempt: number,
  error: unknown,
  random: () => number,
): number | undefined {
  if (attempt >= retry.maxAttempts || !isRetryable(error)) return undefined
  const failure = brandOf(error)?.name
  if (failure !== undefined && retry.unless.includes(failure)) return undefined
  const { delayMs } = retry
  const grown = {
    // Bounded, because 0 times infinity is NaN.
    exponential: delayMs * 2 ** Math.min(attempt - 1, 64),
    linear: delayMs * attempt,
    fixed: delayMs,
    none: 0,
  }[retry.backoff]
  const capped = Math.min(grown, retry.maxDelayMs)
  return Math.round(retry.jitter ? capped * (1 - random() / 2) : capped)
}

function failureClass(value: unknown, what: string): string {
  const failure = typeof value === 'function' ? brandOf(value.prototype)?.name : undefined
  if (failure !== undefined) return failure
  throw new TypeError(`${what} must be a class created by failure(), got ${describe(value)}`)
}
