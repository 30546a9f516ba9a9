import { type Option } from '../base/options.ts'
import { duration } from '../base/time/duration.ts'

/** A hundred years: longer is certainly a mistake, and could not be added to every date. */
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

/** Checks a duration that is not an option. */
export function storedMs(value: unknown, what: string, limits?: { min?: number }): number {
  return duration(0, { ...limits, max: LONGEST_MS }).check(value, what)
}
