/** The last moment that a `Date` can hold. */
export const MAX_DATE_MS = 8.64e15

/** When so long a time is over; no later than any calendar reaches. */
export function momentAfter(at: number, ms: number): number {
  return Math.min(at + Math.ceil(ms), MAX_DATE_MS)
}
