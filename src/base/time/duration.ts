import { describe } from '../describe.ts'
import type { Option } from '../options.ts'

/**
 * A length of time: a number of milliseconds, or a string such as `'250ms'`, `'5s'`, `'10m'`, `'2h'`, `'3d'`.
 * It is kept in whole milliseconds and is at most 100,000,000 days.
 *
 * @example `timeout: '1.5s'` is the same as `timeout: 1500`.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

// Plain decimals only: Number() alone would also take '0x10s' and '1e3s'.
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

const YEAR_MS = 365.25 * UNIT_MS.d

/** The longest duration: the latest possible date is so far from 1970. Stores can add it to any date. */
export const MAX_DURATION_MS = 8.64e15

/**
 * Whole milliseconds of a duration, because stores have no others. A number is rounded up, so that no
 * wait is shorter than asked for. Text is rounded to the nearest: `1.1h` is a little too long in binary.
 *
 * Throws a `RangeError` that begins with `what` when the value is negative, not a number, text in
 * another form, or above `max`.
 */
export function durationMs(value: Duration, what: string, max = MAX_DURATION_MS): number {
  const ms = wholeMs(value, what)
  if (ms <= max) return ms
  const years = `${Math.round(max / YEAR_MS)} years ('${formatDuration(max)}')`
  throw new RangeError(`${what} must be at most ${years}, got ${describe(value)}`)
}

function wholeMs(value: Duration, what: string): number {
  if (typeof value === 'number') {
    if (value >= 0 && Number.isFinite(value)) return Math.ceil(value)
    throw new RangeError(
      `${what} must be a finite number of milliseconds, 0 or more, got ${String(value)}`,
    )
  }
  const parts = typeof value === 'string' ? TEXT.exec(value) : null
  if (parts === null) {
    throw new RangeError(
      `${what} must be a number of milliseconds or a string such as '250ms', '5s', '10m', '2h', '3d', got ${describe(value)}`,
    )
  }
  return Math.round(Number(parts[1]) * UNIT_MS[parts[2] as keyof typeof UNIT_MS])
}

/** A duration as text, in the largest unit that divides it. */
export function formatDuration(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed()
  const [unit, size] = units.find(([, each]) => ms >= each && ms % each === 0) ?? ['ms', 1]
  return `${ms / size}${unit}`
}

/** The shortest and the longest duration that an option accepts. */
export interface DurationLimits {
  readonly min?: number
  readonly max?: number
}

/** An option that is a duration, resolved to whole milliseconds. */
export function duration(fallback: number, limits?: DurationLimits): Option<number>
export function duration(fallback: undefined, limits?: DurationLimits): Option<number | undefined>
export function duration(
  fallback: number | undefined,
  limits: DurationLimits = {},
): Option<number | undefined> {
  return {
    fallback,
    check(value, what) {
      const ms = durationMs(value as Duration, what, limits.max)
      if (limits.min !== undefined && ms < limits.min) {
        throw new RangeError(`${what} must be at least ${limits.min} ms, got ${describe(value)}`)
      }
      return ms
    },
  }
}
