// How activities are run: what a definition says, and what a call says over it.

import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import { checkId } from './names.ts'
import { type ResolvedRetry, type Retry, resolveRetry } from './retry.ts'

/** How an activity is run. */
export interface ActivityOptions {
  /** How it is tried again when it fails. */
  retry?: Retry
  /** How long one attempt may take; then its signal aborts and it counts as failed. */
  timeout?: Duration
  /** How long it may take in all, from the call on, with all attempts and delays; then it fails. */
  totalTimeout?: Duration
  /** How long it may wait for its first attempt to begin; then it fails. */
  startTimeout?: Duration
  /**
   * How long an attempt may be silent: one that does not call `ctx.heartbeat` for so long is aborted,
   * counts as failed, and another runtime may take it.
   */
  heartbeatTimeout?: Duration
  /** Only runtimes that serve this tag run it: see `tags` of `open`. */
  tag?: string
  /** All activities of a session run in one runtime, as long as it lives. */
  session?: string
}

/** How many calls of an activity may run, over all runtimes. */
export interface Limit<In> {
  /** How many at once. */
  concurrency?: number
  /** A bucket of `count` starts that fills again within `per`: so many at once, then one for each share. */
  rate?: { count: number; per: Duration }
  /** Calls with different keys have limits of their own. @default one for all */
  key?: (input: In) => string
}

/** `ActivityOptions`, checked and complete. */
export interface ResolvedActivityOptions {
  readonly retry: ResolvedRetry
  readonly timeoutMs: number | undefined
  readonly totalTimeoutMs: number | undefined
  readonly startTimeoutMs: number | undefined
  readonly heartbeatTimeoutMs: number | undefined
  /** Empty for none; so is `session`. */
  readonly tag: string
  readonly session: string
}

/** `Limit`, checked and complete. */
export interface ResolvedLimit {
  readonly concurrency: number | undefined
  readonly rate: { readonly count: number; readonly perMs: number } | undefined
  readonly key: ((input: never) => unknown) | undefined
}

const atLeastOneMs = duration(undefined, { min: 1 })
const word = option(checkId, '')

/** The table of `ActivityOptions`, for `resolveOptions`. */
export const ACTIVITY_OPTIONS = {
  retry: option((value, what) => resolveRetry(what, value as Retry), resolveRetry('activity')),
  timeout: atLeastOneMs,
  totalTimeout: atLeastOneMs,
  startTimeout: atLeastOneMs,
  heartbeatTimeout: atLeastOneMs,
  tag: word,
  session: word,
}

type Checked = ReturnType<typeof resolveOptions<typeof ACTIVITY_OPTIONS>>

/** With names that say what the numbers are. */
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

/** What was given at a call, over what the definition says. */
export function mergeActivityOptions(
  owner: string,
  defined: ResolvedActivityOptions | undefined,
  given: ActivityOptions | undefined,
): ResolvedActivityOptions {
  if (given === undefined) return defined ?? DEFAULTS
  const said = activityOptions(resolveOptions(owner, given, ACTIVITY_OPTIONS))
  if (defined === undefined) return said
  return {
    retry: given.retry === undefined ? defined.retry : said.retry,
    timeoutMs: said.timeoutMs ?? defined.timeoutMs,
    totalTimeoutMs: said.totalTimeoutMs ?? defined.totalTimeoutMs,
    startTimeoutMs: said.startTimeoutMs ?? defined.startTimeoutMs,
    heartbeatTimeoutMs: said.heartbeatTimeoutMs ?? defined.heartbeatTimeoutMs,
    tag: said.tag === '' ? defined.tag : said.tag,
    session: said.session === '' ? defined.session : said.session,
  }
}

const DEFAULTS = activityOptions(resolveOptions('activity', undefined, ACTIVITY_OPTIONS))

/** Checks a limit. */
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

const LONGEST_MS = 100 * 365 * 86_400_000
const atLeastOne = number({ min: 1, integer: true }, 1)

function resolveRate(value: unknown, what: string): { count: number; perMs: number } {
  const { count, per } = resolveOptions(what, value as object, {
    count: option(atLeastOne.check, undefined),
    per: atLeastOneMs,
  })
  if (count === undefined || per === undefined) {
    throw new TypeError(`${what} needs both a count and a per`)
  }
  if (per > LONGEST_MS) {
    throw new RangeError(`${what}: per must be at most 100 years, got ${describe(per)} ms`)
  }
  return { count, perMs: per }
}

function checkKey(value: unknown, what: string): (input: never) => unknown {
  if (typeof value === 'function') return value as (input: never) => unknown
  throw new TypeError(`${what} must be a function of the input, got ${describe(value)}`)
}
