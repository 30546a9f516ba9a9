import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs, NO_BACKOFF, type ResolvedBackoff, resolveBackoff } from './backoff.ts'

const never = (): number => {
  throw new Error('no randomness is needed')
}

const waits = (backoff: ResolvedBackoff, upTo: number): number[] =>
  Array.from({ length: upTo }, (_, i) => backoffMs(backoff, i + 1, () => 0.5))

test('left-out values have their defaults', () => {
  const defaults = { initialMs: 100, maxMs: 30_000, multiplier: 2, jitter: 0.3 }

  expect(resolveBackoff('retry')).toEqual(defaults)
  expect(resolveBackoff('retry', {})).toEqual(defaults)
  expect(resolveBackoff('retry', { max: '1m' })).toEqual({ ...defaults, maxMs: 60_000 })
})

test('given values are kept', () => {
  const given = { initial: '1s', max: '1m', multiplier: 1.5, jitter: 0 } as const

  expect(resolveBackoff('retry', given)).toEqual({
    initialMs: 1_000,
    maxMs: 60_000,
    multiplier: 1.5,
    jitter: 0,
  })
})

test.each<[object, string]>([
  [{ multiplier: 0.5 }, 'w: multiplier must be a number, 1 or more, got 0.5'],
  [{ multiplier: NaN }, 'w: multiplier must be a number, 1 or more, got NaN'],
  [{ jitter: -0.1 }, 'w: jitter must be a number, from 0 to 1, got -0.1'],
  [{ jitter: 1.1 }, 'w: jitter must be a number, from 0 to 1, got 1.1'],
  [{ initial: -1 }, 'w: initial must be a finite number of milliseconds, 0 or more, got -1'],
  [{ max: NaN }, 'w: max must be a finite number of milliseconds, 0 or more, got NaN'],
  [{ initial: '1m', max: '1s' }, 'w: initial must not be above max, got 60000 ms above 1000 ms'],
  [{ max: 50 }, 'w: initial must not be above max, got 100 ms (the default) above 50 ms'],
  [{ intial: 5 }, 'w: unknown option "intial", did you mean "initial"?'],
])('the backoff %o is refused', (given, message) => {
  expect(() => resolveBackoff('w', given)).toThrow(message)
})

test('waits grow by the multiplier and end at the maximum', () => {
  const backoff = resolveBackoff('w', { initial: '1s', max: '30s', jitter: 0 })

  expect(waits(backoff, 7)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

test('a multiplier of 1 gives the same wait forever', () => {
  const backoff = resolveBackoff('w', { initial: '5s', max: '5s', multiplier: 1, jitter: 0 })

  expect(waits(backoff, 3)).toEqual([5_000, 5_000, 5_000])
})

test('there is no wait without a failure or with an initial wait of zero', () => {
  const backoff = resolveBackoff('w')

  expect(backoffMs(backoff, 0, never)).toBe(0)
  expect(backoffMs(NO_BACKOFF, 1_000, never)).toBe(0)
})

test('jitter spreads a wait evenly to both sides', () => {
  const backoff = resolveBackoff('w', { initial: 1_000, max: 10_000, jitter: 0.1 })

  expect(backoffMs(backoff, 1, () => 0)).toBeCloseTo(900)
  expect(backoffMs(backoff, 1, () => 0.5)).toBeCloseTo(1_000)
  expect(backoffMs(backoff, 1, () => 0.999_999_9)).toBeCloseTo(1_100)
})

test('at the maximum jitter only shortens a wait', () => {
  const backoff = resolveBackoff('w', { initial: '30s', max: '30s', jitter: 0.2 })

  expect(backoffMs(backoff, 1, () => 0.9)).toBe(30_000)
  expect(backoffMs(backoff, 1, () => 0)).toBeCloseTo(24_000)
})

const anyBackoff = fc
  .record({
    low: fc.double({ min: 0, max: 1e12, noNaN: true }),
    high: fc.double({ min: 0, max: 1e12, noNaN: true }),
    multiplier: fc.oneof(
      fc.double({ min: 1, max: 10, noNaN: true }),
      fc.constantFrom(1, 1 + Number.EPSILON, Number.MAX_VALUE, Infinity),
    ),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ low, high, multiplier, jitter }) =>
    resolveBackoff('w', {
      initial: Math.min(low, high),
      max: Math.max(low, high),
      multiplier,
      jitter,
    }),
  )
const anyFailures = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 1e9 }))
const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('a wait is never NaN, negative or above the maximum, and strays no further than its jitter', () => {
  fc.assert(
    fc.property(anyBackoff, anyFailures, anyRandom, (backoff, failures, random) => {
      const exact = backoffMs({ ...backoff, jitter: 0 }, failures, () => 0)
      const ms = backoffMs(backoff, failures, () => random)

      expect(ms).toBeGreaterThanOrEqual(0)
      expect(ms).toBeLessThanOrEqual(backoff.maxMs)
      expect(exact).toBeGreaterThanOrEqual(backoff.initialMs)
      expect(exact).toBeLessThanOrEqual(backoff.maxMs)
      const slack = exact * 1e-12
      expect(ms).toBeGreaterThanOrEqual(exact * (1 - backoff.jitter) - slack)
      expect(ms).toBeLessThanOrEqual(exact * (1 + backoff.jitter) + slack)
    }),
    { numRuns: 500 },
  )
})

test('without jitter another failure never shortens the wait', () => {
  fc.assert(
    fc.property(anyBackoff, anyFailures, (backoff, failures) => {
      const steady = { ...backoff, jitter: 0 }

      const shorter = backoffMs(steady, failures, () => 0)
      const longer = backoffMs(steady, failures + 1, () => 0)

      // Powers of numbers close to 1 are exact to the last digit or so only.
      expect(longer).toBeGreaterThanOrEqual(shorter * (1 - 1e-12))
    }),
    { numRuns: 500 },
  )
})

test.each<[string, () => number, number]>([
  ['below 0', () => -7, 900],
  ['above 1', () => 7, 1_100],
  ['NaN', () => NaN, 1_000],
  ['no number', () => undefined as unknown as number, 1_000],
  ['a throw', never, 1_000],
])('randomness that is %s leaves the wait within its jitter', (_, random, ms) => {
  const backoff = resolveBackoff('w', { initial: 1_000, max: 10_000, jitter: 0.1 })

  expect(backoffMs(backoff, 1, random)).toBeCloseTo(ms)
})

test('a maximum that is the default is named as such', () => {
  expect(() => resolveBackoff('w', { initial: '1m' })).toThrow(
    'w: initial must not be above max, got 60000 ms above 30000 ms (the default)',
  )
})
