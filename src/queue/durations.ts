import { describe } from '../base/describe.ts'
import { type Option } from '../base/options.ts'
import { duration } from '../base/time/duration.ts'

/** A hundred years: the end of what is meant seriously, and of what can be added to any date. */
const LONGEST_MS = 36_525 * 86_400_000

/** A length of time that is kept in the file, in whole milliseconds, at most 100 years. */
export function storedDuration(fallback: number, limits?: { min?: number }): Option<number>
export function storedDuration(
  fallback: undefined,
  limits?: { min?: number },
): Option<number | undefined>
export function storedDuration(
  fallback: number | undefined,
  limits?: { min?: number },
): Option<number | undefined> {
  return { fallback, check: (value, what) => storedMs(value, what, limits) }
}

/** Checks one that is no option. */
export function storedMs(value: unknown, what: string, limits?: { min?: number }): number {
  const ms = duration(0, limits).check(value, what)
  if (ms <= LONGEST_MS) return Math.ceil(ms)
  throw new RangeError(`${what} must be at most 100 years ('36525d'), got ${describe(value)}`)
}
