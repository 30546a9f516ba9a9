import { expect, test } from 'vitest'
import { backoffMs } from '../base/time/backoff.ts'
import type { Handler, HandleOptions } from './handlers.ts'
import { resolveHandler, type ResolvedHandler } from './handle-options.ts'
import { PROFILES, tuningOf } from './profiles.ts'

const single: Handler = { kind: 'single', run: async () => {} }
const transactional: Handler = { kind: 'transactional', run: async () => {} }

const resolved = (options?: HandleOptions, handler: Handler = single): ResolvedHandler =>
  resolveHandler('handle: topic "orders"', handler, options, 'default')

test('without options the defaults hold [config_defaults_match_constants] [lease_config_default]', () => {
  expect(resolved()).toMatchObject({
    concurrency: 4,
    leaseMs: 30_000,
    tuning: { batchSize: 100, degradeAfter: 2, rounds: 8 },
    policy: {
      maxAttempts: 25,
      whenStuck: 'park',
      backoff: { initialMs: 1_000, maxMs: 60_000, multiplier: 2, jitter: 0.2 },
    },
  })
})

const relaxed = (options: HandleOptions): ResolvedHandler =>
  resolveHandler('handle', single, options, 'relaxed')

test('a profile of the handler comes before that of the outbox, and options before both', () => {
  expect(relaxed({}).tuning).toEqual(tuningOf('relaxed'))
  expect(relaxed({ profile: 'low-latency' }).tuning).toEqual(tuningOf('low-latency'))
  expect(relaxed({ profile: 'low-latency', batchSize: 7 }).tuning.batchSize).toBe(7)
  expect(relaxed({ retry: { delay: '2s' } }).policy.backoff).toMatchObject({
    initialMs: 2_000,
    maxMs: 300_000,
  })
})

test('every profile has tuning that can be used', () => {
  for (const profile of PROFILES) {
    const { batchSize, degradeAfter, backoff, pacing, rounds } = tuningOf(profile)
    expect(batchSize).toBeGreaterThanOrEqual(1)
    expect(degradeAfter).toBeGreaterThanOrEqual(1)
    expect(rounds).toBeGreaterThanOrEqual(1)
    expect(backoff.initialMs).toBeGreaterThan(0)
    expect(backoff.initialMs).toBeLessThanOrEqual(backoff.maxMs)
    expect(pacing.min).toBeLessThanOrEqual(pacing.active)
  }
})

test('the first wait is as given [current_backoff_no_failures_returns_base]', () => {
  const { backoff } = resolved({ retry: { delay: 100 } }).policy

  expect(backoffMs(backoff, 1, () => 0.5)).toBe(100)
})

test('each wait is twice the one before [current_backoff_escalates_exponentially]', () => {
  const { backoff } = resolved({ retry: { delay: 100 } }).policy

  expect([1, 2, 3].map((failures) => backoffMs(backoff, failures, () => 0.5))).toEqual([
    100, 200, 400,
  ])
})

test('no wait is longer than the longest [current_backoff_caps_at_max]', () => {
  const { backoff } = resolved({ retry: { delay: 100, maxDelay: 500 } }).policy

  expect(backoffMs(backoff, 10, () => 0.5)).toBe(500)
})

test('a first wait above the longest of the profile raises that', () => {
  expect(resolved({ retry: { delay: '2h' } }).policy.backoff).toMatchObject({
    initialMs: 7_200_000,
    maxMs: 7_200_000,
  })
})

test('a first wait above the longest that is given is refused', () => {
  expect(() => resolved({ retry: { delay: '2s', maxDelay: '1s' } })).toThrow(
    'handle: topic "orders": retry: delay must not be above maxDelay, got 2000 ms above 1000 ms',
  )
})

test('a message may be tried forever', () => {
  expect(resolved({ maxAttempts: Infinity }).policy.maxAttempts).toBe(Infinity)
})

test('a transactional handler has no lease: its transaction is one', () => {
  expect(() => resolved({ lease: '1s' }, transactional)).toThrow(
    'handle: topic "orders": unknown option "lease"',
  )
})

test.each([
  [{ concurrency: 0 }, 'concurrency must be a whole number, from 1 to 1000, got 0'],
  [{ concurrency: 1001 }, 'concurrency must be a whole number, from 1 to 1000, got 1001'],
  [{ batchSize: 0 }, 'batchSize must be a whole number, from 1 to 10000, got 0'],
  [{ batchSize: 10_001 }, 'batchSize must be a whole number, from 1 to 10000, got 10001'],
  [{ maxAttempts: 0 }, 'maxAttempts must be a whole number, 1 or more, got 0'],
  [{ maxAttempts: 1.5 }, 'maxAttempts must be a whole number, 1 or more, got 1.5'],
  [{ whenStuck: 'wait' }, `whenStuck must be one of 'block', 'park', 'skip', got "wait"`],
  [{ profile: 'fast' }, `profile must be one of 'default', 'low-latency'`],
  [{ lease: 0 }, 'lease'],
  [{ retry: 5 }, 'retry: options must be a plain object, got 5'],
  [{ retry: { initial: 5 } }, 'retry: unknown option "initial"'],
  [{ attempts: 3 }, 'unknown option "attempts"'],
])('options such as %j are refused', (options, message) => {
  expect(() => resolved(options as never)).toThrow(`handle: topic "orders": ${message}`)
})

test('a handler that is no function is refused', () => {
  expect(() => resolved({}, { kind: 'single', run: 'x' as never })).toThrow(
    new TypeError('handle: topic "orders": the handler must be a function, got "x"'),
  )
})
