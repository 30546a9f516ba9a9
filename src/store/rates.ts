import { MICROS_PER_MS, RATE_SLACK_MS } from './constants.ts'

// How a rate limit of tasks or of instances is judged: the generic cell rate algorithm. One time for
// each limit says until when its rate is spent, in microseconds. Each start adds its share to it, and
// one may start as long as that leaves it within `perMs` from now. So `count` may start at once, and
// then one for each share of time that has passed. SQLite calls these functions; PostgreSQL's procedures
// do the same in SQL, and tests compare both with these.
//
// A time that is far beyond `perMs` from now was spent under another rate, or before the clock was turned
// back. Then one may start, and the rate counts as spent from that on. It must be far: what a transaction
// with a slightly later clock spent counts.

/** A bucket of `count` starts that fills again evenly within `perMs`. */
export interface Rate {
  readonly count: number
  readonly perMs: number
}

/** What one start takes, in microseconds. Rounded down, or the last of `count` would wait. */
export function shareOf({ count, perMs }: Rate): number {
  return Math.max(Math.floor((perMs * MICROS_PER_MS) / count), 1)
}

/** When the next one may start, in milliseconds; may be in the past. */
export function rateOpensAt(rate: Rate, spentUntil: number, now: number): number {
  const earliest = current(rate, spentUntil, now) + shareOf(rate) - rate.perMs * MICROS_PER_MS
  return Math.ceil(earliest / MICROS_PER_MS)
}

/** How many may start at a time in milliseconds. */
export function startsLeft(rate: Rate, spentUntil: number, now: number): number {
  const nowMicros = now * MICROS_PER_MS
  const spent = Math.max(current(rate, spentUntil, now), nowMicros)
  const room = nowMicros + rate.perMs * MICROS_PER_MS - spent
  return Math.max(Math.floor(room / shareOf(rate)), 0)
}

/** Until when the rate is spent once one starts at a time in milliseconds. */
export function spend(rate: Rate, spentUntil: number, now: number): number {
  return Math.max(current(rate, spentUntil, now), now * MICROS_PER_MS) + shareOf(rate)
}

function current(rate: Rate, spentUntil: number, now: number): number {
  const allSpent = (now + rate.perMs) * MICROS_PER_MS
  const isOutdated = spentUntil > allSpent + RATE_SLACK_MS * MICROS_PER_MS
  return isOutdated ? allSpent - shareOf(rate) : spentUntil
}
