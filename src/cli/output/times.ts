// Times for people.

const STEPS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** A length of time in its largest unit: `3m`, `2h`. */
export function ageText(ms: number): string {
  for (const [unit, name] of STEPS) if (ms >= unit) return `${Math.floor(ms / unit)}${name}`
  return ms <= 0 ? '0s' : '<1s'
}

/** How long ago a time was. */
export function ageOf(date: Date | undefined, now = Date.now()): string {
  return date === undefined ? '' : ageText(Math.max(0, now - date.getTime()))
}

/** A time in UTC, to the second. */
export function timeText(date: Date | undefined): string {
  return date === undefined ? '' : date.toISOString().replace(/\.\d+Z$/, 'Z')
}
