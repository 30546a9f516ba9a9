// When a schedule is due: pure arithmetic, without a clock.
//
// croner parses cron patterns and finds matching times of a wall clock that is never set. What a time
// zone does to these times is decided here:
//
//   - A time that wall clocks skip, because they are set forward, is due at the moment they are set. All
//     times that are skipped at once are due once.
//   - A time that wall clocks show twice, because they are set back, is due the first time only; but
//     if the hours of the pattern begin with `*`, it is due both times, so that a schedule for every
//     hour, or every ten minutes, has no gap.

import { Cron } from 'croner'
import { MAX_DATE_MS } from './moments.ts'
import { type TimeZone, timeZone } from './time-zone.ts'

/** The rule of a schedule, as it is stored. */
export type Timing =
  | { readonly cron: string; readonly timezone: string }
  /** Interval in milliseconds, counted from the moment the rule was set. */
  | { readonly everyMs: number }

/** The due times of a schedule. */
export interface Timetable {
  /** The first due time after this moment; `undefined` if there is none. */
  next(after: number): number | undefined
}

/** The timetable of a rule that was set at `anchor`. Throws a `RangeError` for an invalid one. */
export function timetable(timing: Timing, anchor: number): Timetable {
  if ('cron' in timing) return cronTimetable(timing.cron, timing.timezone)
  const { everyMs } = timing
  return {
    next(after) {
      // Also before the anchor, in case the store's clock was turned back by a lot.
      const next = anchor + (Math.floor((after - anchor) / everyMs) + 1) * everyMs
      return next <= MAX_DATE_MS ? next : undefined
    },
  }
}

const FIELDS = [5, 6]

function cronTimetable(pattern: string, zoneName: string): Timetable {
  const zone = zoneOf(zoneName)
  const cron = parse(pattern)
  const isRepeated = hoursOf(pattern).startsWith('*')
  return { next: (after) => nextIn(zone, after, isRepeated, (wall) => nextWall(cron, wall)) }
}

/** A pattern, for wall clocks that are never set. */
function parse(pattern: string): Cron {
  const trimmed = pattern.trim()
  if (/^@every\b/i.test(trimmed)) {
    throw new RangeError("for an interval, give every, such as every: '10m', instead of cron")
  }
  const count = trimmed.split(/\s+/).length
  if (!/^@\w+$/.test(trimmed) && !FIELDS.includes(count)) {
    throw new RangeError(
      `needs five fields (minute, hour, day, month, weekday), or six with seconds before them; it has ${count}`,
    )
  }
  try {
    return onUtc(trimmed)
  } catch (error) {
    const { message } = error as Error
    throw new RangeError(
      count === 1
        ? `there is no nickname ${trimmed}`
        : (wrongField(trimmed.split(/\s+/)) ?? message.replace(/^Cron\w+: /, '')),
      { cause: error },
    )
  }
}

function onUtc(pattern: string): Cron {
  return new Cron(pattern, { timezone: 'UTC', paused: true })
}

const FIELD_VALUES = [
  ['second', '0 to 59'],
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of the month', '1 to 31, L, LW, 15W'],
  ['month', '1 to 12, JAN to DEC'],
  ['weekday', '0 to 7, SUN to SAT, MON#1, 5L'],
] as const

/** The first field that is not valid by itself, in words of ours: croner's name neither it nor its value. */
function wrongField(fields: readonly string[]): string | undefined {
  const names = FIELD_VALUES.slice(-fields.length)
  for (const [i, [name, values]] of names.entries()) {
    try {
      onUtc(names.map((_, k) => (k === i ? fields[i] : '*')).join(' '))
    } catch {
      return `the ${name} "${fields[i]}" is not valid; it may have ${values}, and *, lists (1,15), ranges (1-5) and steps (*/10, 5-59/10)`
    }
  }
  return undefined
}

function zoneOf(name: string): TimeZone {
  try {
    return timeZone(name)
  } catch (error) {
    throw new RangeError(`unknown time zone "${name}"`, { cause: error })
  }
}

/** The field for hours. Nicknames such as `@daily` name their hour, except `@hourly`. */
function hoursOf(pattern: string): string {
  const fields = pattern.trim().split(/\s+/)
  if (fields.length === 1) return /^@hourly$/i.test(fields[0]!) ? '*' : ''
  return fields.length === 6 ? fields[2]! : fields[1]!
}

function nextWall(cron: Cron, after: number): number {
  return cron.nextRun(new Date(after))?.getTime() ?? Infinity
}

/** Walks from one change of the zone to the next, until there is a due time before it. */
function nextIn(
  zone: TimeZone,
  after: number,
  isRepeated: boolean,
  next: (wall: number) => number,
): number | undefined {
  let from = wallAfter(zone, after, isRepeated)
  let instant = after
  for (;;) {
    const offset = zone.offsetAt(instant)
    const wall = next(from)
    if (wall === Infinity) return undefined
    const due = wall - offset
    const change = zone.nextChange(instant, due)
    if (change === undefined) return due
    const offsetThen = zone.offsetAt(change)
    if (offsetThen > offset) {
      // The wall clock skips [change + offset, change + offsetThen): times in it, or at its end, are due
      // now.
      if (next(change + offset - 1) <= change + offsetThen) return change
      from = change + offsetThen
    } else {
      // The wall clock shows [change + offsetThen, change + offset) a second time.
      from = change + (isRepeated ? offsetThen : offset) - 1
    }
    instant = change
  }
}

// The longest time that is shown twice: two hours at Troll, in Antarctica.
const LONGEST_REPEAT_MS = 3 * 3_600_000

/** The time of a wall clock after which the search begins: past what is shown for the second time. */
function wallAfter(zone: TimeZone, after: number, isRepeated: boolean): number {
  const wall = after + zone.offsetAt(after)
  if (isRepeated) return wall
  const earlier = after - LONGEST_REPEAT_MS
  const offset = zone.offsetAt(earlier)
  const change = zone.nextChange(earlier, after)
  return change === undefined ? wall : Math.max(wall, change + offset - 1)
}
