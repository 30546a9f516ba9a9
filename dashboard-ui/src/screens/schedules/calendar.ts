// Runs of a schedule on a grid of time. What a square stands for depends on how often it runs: a day, with
// a column for each week; an hour, with a row for each day; or five minutes, with a row for each hour.

import { formatClock, formatDay } from '../../format/time.ts'

/** A stretch of time, with what ran in it. */
export interface Cell<Run> {
  readonly from: number
  readonly to: number
  readonly label: string
  readonly runs: readonly Run[]
  /** How many runs are due in it. */
  readonly due: number
}

export type Unit = 'day' | 'hour' | 'five minutes'

export interface Calendar<Run> {
  readonly unit: Unit
  /** Over the columns; most are empty. */
  readonly columns: readonly string[]
  readonly rows: readonly { readonly name: string; readonly cells: readonly Cell<Run>[] }[]
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WEEKS = 20
const DAYS = 7
const HOURS = 8
const SLOTS = 12
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** Lays runs and due times out, up to the end of the row or column that `now` is in. */
export function calendarOf<Run extends { readonly createdAt: string }>(
  runs: readonly Run[],
  due: readonly number[],
  now: number,
): Calendar<Run> {
  const times = runs.map(({ createdAt }) => Date.parse(createdAt))
  const unit = unitOf(times, due)
  const fill = ({ from, to }: Stretch, label: string): Cell<Run> => ({
    from,
    to,
    label,
    runs: runs.filter((_, i) => from <= times[i]! && times[i]! < to),
    due: due.filter((at) => from <= at && at < to).length,
  })
  if (unit === 'day') return { unit, ...byDay(now, fill) }
  return unit === 'hour' ? { unit, ...byHour(now, fill) } : { unit, ...bySlot(now, fill) }
}

interface Stretch {
  readonly from: number
  readonly to: number
}

type Fill<Run> = (stretch: Stretch, label: string) => Cell<Run>
type Grid<Run> = Omit<Calendar<Run>, 'unit'>

/** By the shortest time between due times; where there are none, by what ran. */
export function unitOf(runs: readonly number[], due: readonly number[]): Unit {
  const gap = shortestGap(due) ?? shortestGap(runs)
  if (gap === undefined || gap >= 12 * HOUR) return 'day'
  return gap >= 10 * MINUTE ? 'hour' : 'five minutes'
}

function shortestGap(times: readonly number[]): number | undefined {
  const sorted = times.toSorted((a, b) => a - b)
  const gaps = sorted.slice(1).map((at, i) => at - sorted[i]!)
  return gaps.length === 0 ? undefined : Math.min(...gaps)
}

// The constructor of Date knows about days of 23 and 25 hours; adding milliseconds does not.

function byDay<Run>(now: number, fill: Fill<Run>): Grid<Run> {
  const today = new Date(now)
  const weekday = (today.getDay() + 6) % 7
  const midnight = (week: number, day: number): Date =>
    new Date(
      today.getFullYear(),
      today.getMonth(),
      today.getDate() - weekday + (week - WEEKS + 1) * 7 + day,
    )
  const weeks = Array.from({ length: WEEKS }, (_, week) => week)
  const columns = weeks.map((week) => {
    const month = midnight(week, 0).getMonth()
    const isNew = week === 0 || midnight(week - 1, 0).getMonth() !== month
    return isNew ? MONTHS[month]! : ''
  })
  const rows = WEEKDAYS.map((name, day) => ({
    name,
    cells: weeks.map((week) => {
      const from = midnight(week, day).getTime()
      return fill({ from, to: midnight(week, day + 1).getTime() }, formatDay(from))
    }),
  }))
  return { columns, rows }
}

function byHour<Run>(now: number, fill: Fill<Run>): Grid<Run> {
  const today = new Date(now)
  const at = (day: number, hour: number): number =>
    new Date(
      today.getFullYear(),
      today.getMonth(),
      today.getDate() - DAYS + 1 + day,
      hour,
    ).getTime()
  const hours = Array.from({ length: 24 }, (_, hour) => hour)
  const rows = Array.from({ length: DAYS }, (_, day) => ({
    name: formatDay(at(day, 0)).slice(5),
    cells: hours.map((hour) => {
      const [from, to] = [at(day, hour), at(day, hour + 1)]
      return fill({ from, to }, `${formatDay(from)} ${clock(from)}`)
    }),
  }))
  return { columns: hours.map((hour) => (hour % 6 === 0 ? String(hour) : '')), rows }
}

function bySlot<Run>(now: number, fill: Fill<Run>): Grid<Run> {
  const thisHour = new Date(now).setMinutes(0, 0, 0)
  const slot = HOUR / SLOTS
  const rows = Array.from({ length: HOURS }, (_, i) => {
    const hour = thisHour - (HOURS - 1 - i) * HOUR
    const cells = Array.from({ length: SLOTS }, (__, column) => {
      const from = hour + column * slot
      return fill({ from, to: from + slot }, `${formatDay(from)} ${clock(from)}`)
    })
    return { name: clock(hour), cells }
  })
  const columns = Array.from({ length: SLOTS }, (_, i) =>
    i % 3 === 0 ? `:${clock(i * slot).slice(3)}` : '',
  )
  return { columns, rows }
}

const clock = (at: number): string => formatClock(at).slice(0, 5)
