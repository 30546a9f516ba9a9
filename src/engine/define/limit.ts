// Limits: how many calls of an activity, or instances of a workflow, run across all runtimes.

import { describe } from '../../base/describe.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import { isPlainText } from '../../base/plain-text.ts'
import { type Duration, duration } from '../../base/time/duration.ts'

/**
 * Limits how many calls of an activity, or instances of a workflow, run across all runtimes. Whatever
 * has no place waits. With a `key`, each key has a limit of its own, and no key waits for another.
 */
export interface Limit<In> {
  /**
   * How many run at the same time. A call of an activity counts while an attempt at it runs; an instance
   * of a workflow counts from its admission until it ends, also while it sleeps or is suspended.
   */
  concurrency?: number
  /** A token bucket: up to `count` start at once, and the bucket refills evenly over `per`. */
  rate?: { count: number; per: Duration }
  /**
   * Gives each key a limit of its own. Called once, with the parsed input; returns text of at most 500
   * characters, without control characters and lone surrogates.
   *
   * @default one limit for all
   */
  key?: (input: In) => string
}

/** `Limit`, validated and complete. */
export interface ResolvedLimit {
  readonly concurrency: number | undefined
  readonly rate: { readonly count: number; readonly perMs: number } | undefined
  readonly key: ((input: never) => unknown) | undefined
}

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
const MAX_INTEGER = 2 ** 31 - 1
const atLeastOne = number({ min: 1, max: MAX_INTEGER, integer: true }, 1)

function resolveRate(value: unknown, what: string): { count: number; perMs: number } {
  const { count, per } = resolveOptions(what, value as object, {
    count: option(atLeastOne.check, undefined),
    per: duration(undefined, { min: 1, max: MAX_PER_MS }),
  })
  if (count === undefined || per === undefined) {
    throw new TypeError(`${what} needs both count and per`)
  }
  return { count, perMs: per }
}

function checkKey(value: unknown, what: string): (input: never) => unknown {
  if (typeof value === 'function') return value as (input: never) => unknown
  throw new TypeError(`${what} must be a function of the input, got ${describe(value)}`)
}

/** The most characters of a key. */
const MAX_KEY = 500

/** The key of an input; `owner` begins the error message, such as `workflow "order"`. */
export function computeLimitKey(
  owner: string,
  key: NonNullable<ResolvedLimit['key']>,
  parsed: unknown,
): string {
  let own: unknown
  try {
    own = key(parsed as never)
  } catch (error) {
    throw new TypeError(`${owner}: limit.key threw ${String(error)}`, { cause: error })
  }
  if (isPlainText(own) && own.length <= MAX_KEY) return own
  throw new TypeError(
    `${owner}: limit.key must return text of at most ${MAX_KEY} characters, without control ` +
      `characters and lone surrogates, got ${describe(own)}`,
  )
}
