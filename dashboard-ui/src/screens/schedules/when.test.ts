import { expect, test } from 'vitest'

import { formatInterval, inZone } from './when.ts'

test('an interval is written exactly', () => {
  expect([5_000, 90_000, 3_600_000, 86_461_500, 0].map(formatInterval)).toEqual([
    '5 s',
    '1 m 30 s',
    '1 h',
    '1 d 1 m 1 s 500 ms',
    '0 s',
  ])
})

test('a due time is that of wall clocks in the zone of the schedule', () => {
  expect(inZone(Date.UTC(2026, 10, 19, 2), 'Europe/Berlin')).toBe('Thu 2026-11-19 03:00:00')
  expect(inZone(Date.UTC(2026, 10, 19, 0), 'UTC')).toBe('Thu 2026-11-19 00:00:00')
})
