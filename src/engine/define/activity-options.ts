// Options of activities: those of the definition, and those of a call, which override them.

import { type Duration, duration } from '../../base/time/duration.ts'
import { option, resolveOptions } from '../../base/options.ts'
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
