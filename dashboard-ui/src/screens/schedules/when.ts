import type { SchedulesAnswer } from '../../../../src/dashboard/api.ts'

type Schedule = SchedulesAnswer['items'][number]

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/** A whole number of milliseconds, exactly: `90 s` is `1 m 30 s`. */
export function formatInterval(ms: number): string {
  const parts: string[] = []
  let left = ms
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.length === 0 ? '0 s' : parts.join(' ')
}

/** When it is due: `0 3 * * *`, or `every 10 m`. */
export function whenOf({ cron, every }: Schedule): string {
  return cron ?? `every ${typeof every === 'number' ? formatInterval(every) : every}`
}

/** A moment as wall clocks of a zone show it: `Thu 2026-11-19 03:00:00`. */
export function inZone(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const { weekday, year, month, day, hour, minute, second } = parts
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute}:${second}`
}

/** One word for what it does now. */
export function stateOf({ paused, lastError }: Schedule): string {
  if (paused) return 'paused'
  return lastError === undefined ? 'active' : 'error'
}
