import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DuePlan, MAX_COUNTED, NEVER_LATE_MS, planDueTimes } from './due-plan.ts'
import { type Timetable, timetable } from './timetable.ts'

const EVERY = 60_000
const minutely = timetable({ everyMs: EVERY }, 0)

function plan(
  table: Timetable,
  nextAt: number,
  now: number,
  catchUpMs: number,
  countPassed = true,
): DuePlan {
  return planDueTimes(table, nextAt, now, { catchUpMs, countPassed })
}

test('a due time that has just come is started, and the next one follows', () => {
  expect(plan(minutely, 60_000, 60_005, 0)).toEqual({
    missed: 0,
    at: 60_000,
    nextAt: 120_000,
    passed: 1,
    nextAfterPassed: 120_000,
  })
})

test('due times within the window are dealt with in order, those before it are missed', () => {
  expect(plan(minutely, 60_000, 10 * EVERY + 5, 3 * EVERY)).toEqual({
    missed: 7,
    at: 8 * EVERY,
    nextAt: 9 * EVERY,
    passed: 3,
    nextAfterPassed: 11 * EVERY,
  })
})

test('what has come is counted only if that is asked for, since it takes long', () => {
  let asked = 0
  const counting: Timetable = { next: (after) => (asked++, minutely.next(after)) }

  expect(plan(counting, EVERY, 500 * EVERY, 1_000 * EVERY, false)).toEqual({
    missed: 0,
    at: EVERY,
    nextAt: 2 * EVERY,
    passed: 1,
    nextAfterPassed: 2 * EVERY,
  })
  expect(asked).toBe(1)
})

test('without a window, ten seconds are not too late, and more is', () => {
  const startedAt = (lateMs: number) => plan(minutely, EVERY, EVERY + lateMs, 0).at

  expect(startedAt(NEVER_LATE_MS)).toBe(EVERY)
  expect(startedAt(NEVER_LATE_MS + 1)).toBe(null)
})

test('a due time that has not come is left as it is', () => {
  const planned = plan(minutely, EVERY, EVERY - 1, 3_600_000)

  expect(planned).toMatchObject({ missed: 0, at: null, nextAt: EVERY })
})

test('after years without a runtime, counting ends after a while', () => {
  const now = 2_000_000 * EVERY

  const planned = plan(minutely, EVERY, now, 3_600_000)

  expect(planned).toMatchObject({ missed: MAX_COUNTED, at: now - 3_600_000, passed: 61 })
})

test('whenever it is asked, each due time is started or missed, once and in order', () => {
  const due = (k: number) => k * EVERY
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 10 * EVERY }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 0, max: 5 * EVERY }),
      (pauses, catchUpMs) => {
        let [now, nextAt, missed] = [0, due(1), 0]
        const started: number[] = []

        for (const pause of pauses) {
          now += pause
          for (;;) {
            const planned = plan(minutely, nextAt, now, catchUpMs)
            missed += planned.missed
            nextAt = planned.nextAt
            if (planned.at === null) break
            started.push(planned.at)
            expect(now - planned.at).toBeLessThanOrEqual(Math.max(catchUpMs, NEVER_LATE_MS))
          }
        }

        expect(started).toEqual([...new Set(started)].toSorted((a, b) => a - b))
        expect(started.length + missed).toBe(Math.floor(now / EVERY))
        expect(nextAt).toBe(due(Math.floor(now / EVERY) + 1))
      },
    ),
  )
})
