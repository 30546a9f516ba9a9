/** The last moment that a `Date` can show. Later ones would not be safe integers at some point. */
const FAR = 8_640_000_000_000_000

/** The moment so much later, however much that is, as a whole number. */
export function after(now: number, ms: number): number {
  return Math.min(Math.ceil(now + ms), FAR)
}
