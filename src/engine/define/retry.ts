import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { brandOf, type Failure, isRetryable } from '../../base/errors.ts'
import { flag, list, number, oneOf, resolveOptions } from '../../base/options.ts'

/** A class made by `failure`, whatever its details. */
type AnyFailureClass = new (...args: never) => Failure<unknown>

/** How an activity that failed is tried again. */
export interface Retry {
  /** How often it is tried in all, the first time included. @default 3 */
  maxAttempts?: number
  /** How the delay grows: it doubles, grows by itself each time, stays, or there is none. @default 'exponential' */
  backoff?: 'exponential' | 'linear' | 'fixed' | 'none'
  /** The delay after the first failure. @default '1s' */
  delay?: Duration
  /** No delay is longer than this. @default '1m' */
  maxDelay?: Duration
  /** Shortens each delay by a random part of up to half, so that many do not come back at once. @default true */
  jitter?: boolean
  /** Failures that are final, whatever else is said. */
  unless?: readonly AnyFailureClass[]
}

/** A `Retry` with every value known. */
export interface ResolvedRetry {
  readonly maxAttempts: number
  readonly backoff: 'exponential' | 'linear' | 'fixed' | 'none'
  readonly delayMs: number
  readonly maxDelayMs: number
  readonly jitter: boolean
  /** Names of failures: a task is run where their classes may not be known. */
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

/** Fills in and checks a retry policy; `owner` begins the error message. */
export function resolveRetry(owner: string, given?: Retry): ResolvedRetry {
  const { delay, maxDelay, ...rest } = resolveOptions(owner, given, TABLE)
  return { ...rest, delayMs: delay, maxDelayMs: maxDelay }
}

/** Milliseconds until the next attempt, or `undefined` when there is none. */
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
    // Bounded, because nothing times infinity is not a number.
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
  throw new TypeError(`${what} must be a class made by failure(), got ${describe(value)}`)
}
