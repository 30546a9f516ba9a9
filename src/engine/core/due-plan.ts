import type { Timetable } from './timetable.ts'

/** Due times that are no longer ago than this are never missed: a runtime may be a little late. */
export const NEVER_LATE_MS = 10_000

/** How many due times are counted, so that a long interruption does not block the event loop. */
export const MAX_COUNTED = 1_000

/** What to do about the due times of a schedule that have come. */
export interface DuePlan {
  /** How many are too long ago; `MAX_COUNTED` of them, or more. */
  readonly missed: number
  /** The first of the others; `null` if there is none. */
  readonly at: number | null
  /** The due time after it. */
  readonly nextAt: number
  /** How many have come from `at` on, and the first that has not; if not counted, only `at` and `nextAt`. */
  readonly passed: number
  readonly nextAfterPassed: number
}

/**
 * Decides about the due times from `nextAt` on. Throws a `RangeError` if there are no later ones.
 *
 * What has come is only counted with `countPassed`: that takes long after an interruption, and each due
 * time that is caught up with would count all that are left.
 */
export function planDueTimes(
  table: Timetable,
  nextAt: number,
  nowMs: number,
  { catchUpMs, countPassed }: { readonly catchUpMs: number; readonly countPassed: boolean },
): DuePlan {
  const oldest = nowMs - Math.max(catchUpMs, NEVER_LATE_MS)
  const missed = walk(table, nextAt, oldest)
  const at = missed.next
  if (at > nowMs) {
    return { missed: missed.count, at: null, nextAt: at, passed: 0, nextAfterPassed: at }
  }
  const next = following(table, at)
  const passed = countPassed ? walk(table, at, nowMs + 1) : { count: 1, next }
  return {
    missed: missed.count,
    at,
    nextAt: next,
    passed: passed.count,
    nextAfterPassed: passed.next,
  }
}

/** Counts due times from one on and before a moment, and finds the first that is not before it. */
function walk(table: Timetable, from: number, before: number): { count: number; next: number } {
  let [count, next] = [0, from]
  while (next < before && count < MAX_COUNTED) {
    count++
    next = following(table, next)
  }
  return { count, next: next < before ? following(table, before - 1) : next }
}

/** The due time after a moment. */
export function following(table: Timetable, after: number): number {
  const next = table.next(after)
  if (next === undefined) throw new RangeError('it is never due')
  return next
}
