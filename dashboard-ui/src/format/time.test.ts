import { expect, test } from 'vitest'

import { formatAbsolute, formatDuration, formatRelative } from './time.ts'

test.each([
  [0, '0 ms'],
  [0.4, '<1 ms'],
  [840, '840 ms'],
  [999.6, '1.00 s'],
  [1234, '1.23 s'],
  [12_400, '12.4 s'],
  [59_960, '1 m 00 s'],
  [119_900, '2 m 00 s'],
  [185_000, '3 m 05 s'],
  [3_599_700, '1 h 00 m'],
  [7_800_000, '2 h 10 m'],
  [86_399_000, '1 d 0 h'],
  [356_400_000, '4 d 3 h'],
  [-1500, '-1.50 s'],
  [Number.NaN, '–'],
])('%d ms read as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test.each([
  [0, 'just now'],
  [-14_000, '14 s ago'],
  [-200_000, '3 m ago'],
  [-2 * 86_400_000, '2 d ago'],
  [1_500, 'in a moment'],
  [190_000, 'in 3 m'],
])('%d ms from now read as %s', (offset, text) => {
  const now = Date.UTC(2026, 10, 18)

  expect(formatRelative(now + offset, now)).toBe(text)
})

test('a moment is shown to the millisecond, with its zone', () => {
  expect(formatAbsolute(Date.UTC(2026, 10, 18, 5, 12, 44, 31))).toMatch(
    /^2026-11-1[789] \d\d:12:44\.031 UTC([+-]\d+(:\d\d)?)?$|^2026-11-1[789] \d\d:\d\d:44\.031 UTC/,
  )
})
