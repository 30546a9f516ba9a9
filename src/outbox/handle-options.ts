import { describe } from '../base/describe.ts'
import { number, oneOf, option, resolveOptions } from '../base/options.ts'
import { type ResolvedBackoff, resolveBackoff } from '../base/time/backoff.ts'
import { duration } from '../base/time/duration.ts'
import type { Handler, HandleOptions } from './handlers.ts'
import { type Profile, PROFILES, type Tuning, tuningOf } from './profiles.ts'
import type { RetryPolicy } from './settlement.ts'

/** A handler with its options, checked and complete. */
export interface ResolvedHandler {
  readonly handler: Handler
  readonly concurrency: number
  readonly leaseMs: number
  readonly tuning: Tuning
  readonly policy: RetryPolicy
}

/** Checks the options of a handler; `profile` is that of the outbox. */
export function resolveHandler(
  owner: string,
  handler: Handler,
  given: HandleOptions | undefined,
  profile: Profile,
): ResolvedHandler {
  if (typeof handler.run !== 'function') {
    throw new TypeError(`${owner}: the handler must be a function, got ${describe(handler.run)}`)
  }
  const table = {
    concurrency: number({ min: 1, max: 1_000, integer: true }, 4),
    batchSize: option(number({ min: 1, max: 10_000, integer: true }, 1).check, undefined),
    maxAttempts: number({ min: 1, max: Infinity, integer: true }, 25),
    whenStuck: oneOf(['block', 'park', 'skip'], 'park'),
    profile: oneOf(PROFILES, profile),
    retry: option((value) => value as HandleOptions['retry'], undefined),
    lease: duration(30_000, { min: 1 }),
  }
  const { lease, ...others } = table
  const resolved =
    handler.kind === 'transactional'
      ? { ...resolveOptions(owner, given, others), lease: lease.fallback }
      : resolveOptions(owner, given, table)
  const tuning = tuningOf(resolved.profile)
  return {
    handler,
    concurrency: resolved.concurrency,
    leaseMs: resolved.lease,
    tuning: { ...tuning, batchSize: resolved.batchSize ?? tuning.batchSize },
    policy: {
      maxAttempts: resolved.maxAttempts,
      whenStuck: resolved.whenStuck,
      backoff: retryOf(`${owner}: retry`, resolved.retry, tuning.backoff),
      random: Math.random,
    },
  }
}

function retryOf(
  owner: string,
  given: HandleOptions['retry'],
  fallback: ResolvedBackoff,
): ResolvedBackoff {
  const { delay, maxDelay } = resolveOptions(owner, given, {
    delay: duration(fallback.initialMs),
    maxDelay: duration(undefined),
  })
  const max = maxDelay ?? Math.max(delay, fallback.maxMs)
  if (delay > max) {
    throw new RangeError(
      `${owner}: delay must not be above maxDelay, got ${delay} ms above ${max} ms`,
    )
  }
  return resolveBackoff(owner, { initial: delay, max, jitter: fallback.jitter })
}
