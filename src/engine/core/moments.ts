/** The latest time that a `Date` can represent. */
export const MAX_DATE_MS = 8.64e15

/** The time `ms` after `at`, at most the latest possible date. */
export function momentAfter(at: number, ms: number): number {
  return Math.min(at + Math.ceil(ms), MAX_DATE_MS)
}
