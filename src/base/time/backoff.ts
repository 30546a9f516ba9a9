import { number, resolveOptions } from '../options.ts'
import { type Duration, duration } from './duration.ts'

/** How long to wait after the n-th failure in a row. */
export interface Backoff {
  /** Wait after the first failure. @default '100ms' */
  initial?: Duration
  /** No wait is longer than this, jitter included. @default '30s' */
  max?: Duration
  /** Each wait is this many times the one before; at least 1. @default 2 */
  multiplier?: number
  /**
   * How far a wait may stray from its length, as a share of it, from 0 to 1. It keeps many
   * processes that failed together from coming back together.
   *
   * @default 0.3
   */
  jitter?: number
}

/** A `Backoff` with all defaults filled in. */
export interface ResolvedBackoff {
  readonly initialMs: number
  readonly maxMs: number
  readonly multiplier: number
  readonly jitter: number
}

/** No wait at all. */
export const NO_BACKOFF: ResolvedBackoff = { initialMs: 0, maxMs: 0, multiplier: 1, jitter: 0 }

/** Fills in and checks a backoff; `owner` begins the error message. */
export function resolveBackoff(owner: string, given: Backoff = {}): ResolvedBackoff {
  const { initial, max, multiplier, jitter } = resolveOptions(owner, given, {
    initial: duration(100),
    max: duration(30_000),
    multiplier: number({ min: 1, max: Infinity }, 2),
    jitter: number({ min: 0, max: 1 }, 0.3),
  })
  if (initial > max) {
    const shown = (name: 'initial' | 'max', ms: number): string =>
      `${ms} ms${given[name] === undefined ? ' (the default)' : ''}`
    throw new RangeError(
      `${owner}: initial must not be above max, got ${shown('initial', initial)} above ${shown('max', max)}`,
    )
  }
  return { initialMs: initial, maxMs: max, multiplier, jitter }
}

/**
 * Milliseconds to wait after `failures` failures in a row; 0 for none.
 *
 * `random` gives [0, 1). Whatever else it does, the wait stays within its jitter.
 */
export function backoffMs(
  { initialMs, maxMs, multiplier, jitter }: ResolvedBackoff,
  failures: number,
  random: () => number,
): number {
  if (failures < 1 || initialMs === 0) return 0
  // The power runs into Infinity after some thousand failures; the minimum tames it.
  const exact = Math.min(initialMs * multiplier ** (failures - 1), maxMs)
  return Math.min(exact * (1 - jitter + 2 * jitter * shareOf(random)), maxMs)
}

/** A number from 0 to 1, or the middle if it is not one: any `random` must yield a wait. */
function shareOf(random: () => number): number {
  try {
    const share = Math.min(Math.max(random(), 0), 1)
    return Number.isNaN(share) ? 0.5 : share
  } catch {
    return 0.5
  }
}
