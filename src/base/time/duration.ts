import { describe } from '../describe.ts'
import type { Option } from '../options.ts'

/**
 * A length of time: milliseconds as a number, or text such as `'250ms'`, `'5s'`, `'10m'`, `'2h'`, `'3d'`.
 *
 * @example `timeout: '1.5s'` is the same as `timeout: 1500`.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

// Plain decimals only: Number() alone would also take '0x10s' and '1e3s'.
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/**
 * Milliseconds of a duration.
 *
 * Throws a `RangeError` that begins with `what` when the value is negative, not a number, or
 * text in another form.
 */
export function durationMs(value: Duration, what: string): number {
  if (typeof value === 'number') {
    if (value >= 0 && Number.isFinite(value)) return value
    throw new RangeError(
      `${what} must be a finite number of milliseconds, 0 or more, got ${String(value)}`,
    )
  }
  const parts = typeof value === 'string' ? TEXT.exec(value) : null
  const ms = parts === null ? NaN : Number(parts[1]) * UNIT_MS[parts[2] as keyof typeof UNIT_MS]
  // So many digits that they make Infinity are no length of time either.
  if (!Number.isFinite(ms)) {
    throw new RangeError(
      `${what} must be milliseconds or text such as '250ms', '5s', '10m', '2h', '3d', got ${describe(value)}`,
    )
  }
  return ms
}

/** An option that is a duration, resolved to milliseconds. */
export function duration(fallback: number, limits?: { min?: number }): Option<number>
export function duration(fallback: undefined, limits?: { min?: number }): Option<number | undefined>
export function duration(
  fallback: number | undefined,
  limits: { min?: number } = {},
): Option<number | undefined> {
  return {
    fallback,
    check(value, what) {
      const ms = durationMs(value as Duration, what)
      if (limits.min !== undefined && ms < limits.min) {
        throw new RangeError(`${what} must be at least ${limits.min} ms, got ${describe(value)}`)
      }
      return ms
    },
  }
}
