// Options of activities: those of the definition, and those of a call, which override them.

import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import { checkId } from './names.ts'
import { type ResolvedRetry, type Retry, resolveRetry } from './retry.ts'

/** Options of an activity: how to retry it, when it times out, and where it runs. */
export interface ActivityOptions {
  /** When and how often to retry it after a failure. */
  retry?: Retry
  /** The time limit of one attempt: its signal aborts and the attempt fails. @default none */
  timeout?: Duration
  /** The time limit from the call to the result, across all attempts and delays. @default none */
  totalTimeout?: Duration
  /** How long the call may wait for its first attempt to begin before it fails. @default no limit */
  startTimeout?: Duration
  /**
   * The longest time between two calls of `ctx.heartbeat`. An attempt that exceeds it is aborted and
   * fails, and another runtime may run the next one.
   *
   * @default none
   */
  heartbeatTimeout?: Duration
  /** Only runtimes that serve this tag run it: see the option `tags` of `open`. */
  tag?: string
  /** Activities of the same session run in the same runtime, for as long as it lives. */
  session?: string
}

/** Limits how many calls of an activity run, across all runtimes. */
export interface Limit<In> {
  /** How many calls run at the same time. */
  concurrency?: number
  /**
   * A token bucket: up to `count` calls start at once, and the bucket refills evenly over `per`.
   */
  rate?: { count: number; per: Duration }
  /** Gives each key a limit of its own. @default one limit for all calls */
  key?: (input: In) => string
}

/** `ActivityOptions`, validated and complete. */
export interface ResolvedActivityOptions {
  readonly retry: ResolvedRetry
  readonly timeoutMs: number | undefined
  readonly totalTimeoutMs: number | undefined
  readonly startTimeoutMs: number | undefined
  readonly heartbeatTimeoutMs: number | undefined
  /** Empty for none, like `session`. */
  readonly tag: string
  readonly session: string
}

/** `Limit`, validated and complete. */
export interface ResolvedLimit {
  readonly concurrency: number | undefined
  readonly rate: { readonly count: number; readonly perMs: number } | undefined
  readonly key: ((input: never) => unknown) | undefined
}

const atLeastOneMs = duration(undefined, { min: 1 })
const optionalId = option(checkId, '')

/** The table of `ActivityOptions`, for `resolveOptions`. */
export const ACTIVITY_OPTIONS = {
  retry: option((value, what) => resolveRetry(what, value as Retry), resolveRetry('activity')),
  timeout: atLeastOneMs,
  totalTimeout: atLeastOneMs,
  startTimeout: atLeastOneMs,
  heartbeatTimeout: atLeastOneMs,
  tag: optionalId,
  session: optionalId,
}

type Checked = ReturnType<typeof resolveOptions<typeof ACTIVITY_OPTIONS>>

/** Names the unit of each duration. */
export function activityOptions(checked: Checked): ResolvedActivityOptions {
  const { timeout, totalTimeout, startTimeout, heartbeatTimeout, ...rest } = checked
  return {
    ...rest,
    timeoutMs: timeout,
    totalTimeoutMs: totalTimeout,
    startTimeoutMs: startTimeout,
    heartbeatTimeoutMs: heartbeatTimeout,
  }
}

/** The options of a call, and those of the definition where the call has none. */
export function mergeActivityOptions(
  owner: string,
  defined: ResolvedActivityOptions | undefined,
  given: ActivityOptions | undefined,
): ResolvedActivityOptions {
  if (given === undefined) return defined ?? DEFAULTS
  const called = activityOptions(resolveOptions(owner, given, ACTIVITY_OPTIONS))
  if (defined === undefined) return called
  return {
    retry: given.retry === undefined ? defined.retry : called.retry,
    timeoutMs: called.timeoutMs ?? defined.timeoutMs,
    totalTimeoutMs: called.totalTimeoutMs ?? defined.totalTimeoutMs,
    startTimeoutMs: called.startTimeoutMs ?? defined.startTimeoutMs,
    heartbeatTimeoutMs: called.heartbeatTimeoutMs ?? defined.heartbeatTimeoutMs,
    tag: called.tag === '' ? defined.tag : called.tag,
    session: called.session === '' ? defined.session : called.session,
  }
}

const DEFAULTS = activityOptions(resolveOptions('activity', undefined, ACTIVITY_OPTIONS))

/** Validates a `Limit`; `what` begins the error message. */
export function resolveLimit(value: unknown, what: string): ResolvedLimit {
  const { concurrency, rate, key } = resolveOptions(what, value as object, {
    concurrency: option(atLeastOne.check, undefined),
    rate: option(resolveRate, undefined),
    key: option(checkKey, undefined),
  })
  if (concurrency === undefined && rate === undefined) {
    throw new TypeError(`${what} must have a concurrency or a rate`)
  }
  return { concurrency, rate, key }
}

const MAX_PER_MS = 100 * 365 * 86_400_000
const atLeastOne = number({ min: 1, integer: true }, 1)

function resolveRate(value: unknown, what: string): { count: number; perMs: number } {
  const { count, per } = resolveOptions(what, value as object, {
    count: option(atLeastOne.check, undefined),
    per: atLeastOneMs,
  })
  if (count === undefined || per === undefined) {
    throw new TypeError(`${what} needs both count and per`)
  }
  if (per > MAX_PER_MS) {
    throw new RangeError(`${what}: per must be at most 100 years, got ${describe(per)} ms`)
  }
  return { count, perMs: per }
}

function checkKey(value: unknown, what: string): (input: never) => unknown {
  if (typeof value === 'function') return value as (input: never) => unknown
  throw new TypeError(`${what} must be a function of the input, got ${describe(value)}`)
}
