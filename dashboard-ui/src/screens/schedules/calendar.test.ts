import { expect, test } from 'vitest'

import { calendarOf, unitOf } from './calendar.ts'

const HOUR = 3_600_000
// A Wednesday.
const NOW = new Date(2026, 10, 18, 9, 31).getTime()

const run = (...at: [number, number, number, number, number]) => ({
  createdAt: new Date(...at).toISOString(),
})

test('days stand in weeks from Monday on, with runs and due times in theirs', () => {
  const late = run(2026, 10, 16, 23, 59)
  const early = run(2026, 10, 17, 0, 0)
  const ancient = run(2020, 0, 1, 0, 0)
  const tomorrow = new Date(2026, 10, 19, 3).getTime()

  const { unit, columns, rows } = calendarOf(
    [early, late, ancient],
    [tomorrow, tomorrow + 24 * HOUR],
    NOW,
  )

  expect(unit).toBe('day')
  expect(rows.map(({ name, cells }) => [name, cells.at(-1)!.label])).toEqual([
    ['Mon', '2026-11-16'],
    ['Tue', '2026-11-17'],
    ['Wed', '2026-11-18'],
    ['Thu', '2026-11-19'],
    ['Fri', '2026-11-20'],
    ['Sat', '2026-11-21'],
    ['Sun', '2026-11-22'],
  ])
  expect(rows[0]!.cells.at(-1)!.runs).toEqual([late])
  expect(rows[1]!.cells.at(-1)!.runs).toEqual([early])
  expect(rows.map(({ cells }) => cells.at(-1)!.due)).toEqual([0, 0, 0, 1, 1, 0, 0])
  expect(rows.flatMap(({ cells }) => cells.flatMap(({ runs }) => runs))).toHaveLength(2)
  expect(rows[0]!.cells[0]!.label).toBe('2026-07-06')
  expect(columns.filter((name) => name !== '')).toEqual(['Jul', 'Aug', 'Sep', 'Oct', 'Nov'])
})

test('what runs every hour has a square for each hour of a week', () => {
  const runs = [run(2026, 10, 18, 8, 0), run(2026, 10, 18, 8, 59), run(2026, 10, 12, 0, 0)]

  const { unit, rows } = calendarOf(runs, [NOW + HOUR, NOW + 2 * HOUR], NOW)

  expect(unit).toBe('hour')
  expect(rows.map(({ name }) => name)).toEqual([
    '11-12',
    '11-13',
    '11-14',
    '11-15',
    '11-16',
    '11-17',
    '11-18',
  ])
  expect(rows[6]!.cells[8]!).toMatchObject({ label: '2026-11-18 08:00', runs: runs.slice(0, 2) })
  expect(rows[0]!.cells[0]!.runs).toEqual([runs[2]])
  expect(rows[6]!.cells.map(({ due }) => due).indexOf(1)).toBe(10)
})

test('what runs more often has a square for five minutes', () => {
  const soon = [NOW + 1_000, NOW + 2_000]

  const { unit, columns, rows } = calendarOf([run(2026, 10, 18, 9, 30)], soon, NOW)

  expect(unit).toBe('five minutes')
  expect(rows.map(({ name }) => name).slice(-2)).toEqual(['08:00', '09:00'])
  expect(rows.at(-1)!.cells[6]!).toMatchObject({ label: '2026-11-18 09:30', due: 2 })
  expect(rows.at(-1)!.cells[6]!.runs).toHaveLength(1)
  expect(columns).toEqual([':00', '', '', ':15', '', '', ':30', '', '', ':45', '', ''])
})

test('squares follow due times, or what ran while there are none', () => {
  expect(unitOf([0, 1_000], [0, 24 * HOUR])).toBe('day')
  expect(unitOf([0, HOUR, 5 * HOUR], [])).toBe('hour')
  expect(unitOf([5], [])).toBe('day')
})
