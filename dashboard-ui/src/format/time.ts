// Times and durations as people read them. Every text is made of a number of milliseconds and the
// moment it is looked at, so that all of it can be tested without a clock.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration with at most two units: `840 ms`, `12.4 s`, `3 m 05 s`, `2 h 10 m`, `4 d 3 h`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < 1) return ms === 0 ? '0 ms' : '<1 ms'
  if (ms < SECOND - 0.5) return `${Math.round(ms)} ms`
  if (ms < MINUTE - 50) return `${(ms / SECOND).toFixed(ms < 10 * SECOND - 5 ? 2 : 1)} s`
  if (ms < HOUR - 500) return pair(ms, MINUTE, 'm', SECOND, 's')
  if (ms < DAY - MINUTE / 2) return pair(ms, HOUR, 'h', MINUTE, 'm')
  return pair(ms, DAY, 'd', HOUR, 'h')
}

/** Rounds to the smaller unit first, so that 119.9 s is `2 m 00 s` and never `1 m 60 s`. */
function pair(ms: number, large: number, l: string, small: number, s: string): string {
  const units = Math.round(ms / small)
  const perLarge = large / small
  const rest = String(units % perLarge)
  return `${Math.floor(units / perLarge)} ${l} ${s === 'h' ? rest : rest.padStart(2, '0')} ${s}`
}

/** How long ago, or in how long: `just now`, `14 s ago`, `in 3 m`, `2 d ago`. One unit. */
export function formatRelative(at: number, now: number): string {
  const away = Math.abs(now - at)
  if (away < 2 * SECOND) return at > now + SECOND ? 'in a moment' : 'just now'
  const text = oneUnit(away)
  return at > now ? `in ${text}` : `${text} ago`
}

function oneUnit(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`
  return `${Math.floor(ms / DAY)} d`
}

/** The whole moment, for a title: `2026-11-18 05:12:44.031 UTC+1`. Of the zone of the reader. */
export function formatAbsolute(at: number): string {
  const date = new Date(at)
  return `${formatDay(at)} ${formatClock(at)}.${three(date.getMilliseconds())} ${zone(date)}`
}

/** `2026-11-18`, in the zone of the reader. */
export function formatDay(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** `05:12:44`, in the zone of the reader. */
export function formatClock(at: number): string {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

function zone(date: Date): string {
  const minutes = -date.getTimezoneOffset()
  if (minutes === 0) return 'UTC'
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${two(rest)}`}`
}

const two = (n: number): string => String(n).padStart(2, '0')
const three = (n: number): string => String(n).padStart(3, '0')
