import { describe, expect, test } from 'vitest'

import { failure } from '../../base/errors.ts'
import { resolveRetry, type Retry, retryDelayMs } from './retry.ts'

const Final = failure('FinalInRetryTest', { retryable: false })
const Soft = failure('SoftInRetryTest')

/** The delays after each failure until there is none, at most ten. */
function delays(retry: Retry, error: unknown = new Error('x'), random = () => 0): number[] {
  const policy = resolveRetry('test', { jitter: false, ...retry })
  const found: number[] = []
  for (let attempt = 1; attempt <= 10; attempt++) {
    const delay = retryDelayMs(policy, attempt, error, random)
    if (delay === undefined) break
    found.push(delay)
  }
  return found
}

describe('a retry policy', () => {
  test('by default it is three attempts, from one second to one minute, with jitter', () => {
    expect(resolveRetry('test')).toEqual({
      maxAttempts: 3,
      backoff: 'exponential',
      delayMs: 1_000,
      maxDelayMs: 60_000,
      jitter: true,
      unless: [],
    })
    expect(delays({})).toEqual([1_000, 2_000])
  })

  test.each<[NonNullable<Retry['backoff']>, number[]]>([
    ['exponential', [100, 200, 400, 500]],
    ['linear', [100, 200, 300, 400]],
    ['fixed', [100, 100, 100, 100]],
    ['none', [0, 0, 0, 0]],
  ])('%s delays grow as they say, up to the longest', (backoff, expected) => {
    expect(delays({ backoff, delay: 100, maxDelay: 500, maxAttempts: 5 })).toEqual(expected)
  })

  test('the default of the longest delay does not shorten a longer one that was asked for', () => {
    const fixed = { backoff: 'fixed', delay: '10m', maxAttempts: 3 } as const

    expect(delays(fixed)).toEqual([600_000, 600_000])
    expect(delays({ ...fixed, maxDelay: '2m' })).toEqual([120_000, 120_000])
  })

  test('jitter shortens a delay by up to half', () => {
    const policy = { jitter: true, delay: 1_000, backoff: 'fixed', maxAttempts: 2 } as const

    expect(delays(policy, new Error('x'), () => 0)).toEqual([1_000])
    expect(delays(policy, new Error('x'), () => 0.5)).toEqual([750])
    expect(delays(policy, new Error('x'), () => 1)).toEqual([500])
  })

  test('one attempt means no retry', () => {
    expect(delays({ maxAttempts: 1 })).toEqual([])
  })

  test('a failure that is not retryable, or named in unless, is not tried again', () => {
    expect(delays({}, new Final('no'))).toEqual([])
    expect(delays({}, new Soft('no'))).toHaveLength(2)
    expect(delays({ unless: [Soft] }, new Soft('no'))).toEqual([])
    expect(delays({ unless: [Soft] }, new Error('no'))).toHaveLength(2)
  })

  test.each([0, 5])('after thousands of attempts a delay of %i is still a number', (delay) => {
    const policy = resolveRetry('test', { delay, jitter: false, maxAttempts: 100_000 })

    expect(retryDelayMs(policy, 99_999, new Error('x'), Math.random)).toBe(delay === 0 ? 0 : 60_000)
  })

  test.each<[object, string]>([
    [{ maxAttempts: 0 }, 'test: maxAttempts must be a whole number, 1 or more, got 0'],
    [{ maxAttempts: 1.5 }, 'test: maxAttempts must be a whole number'],
    [{ backoff: 'fibonacci' }, "test: backoff must be one of 'exponential', 'linear'"],
    [{ delay: -1 }, 'test: delay must be'],
    [{ delay: 'soon' }, 'test: delay must be'],
    [{ unless: [new Error('x')] }, 'test: unless[0] must be a class created by failure()'],
    [{ maxAttempt: 3 }, 'test: unknown option "maxAttempt", did you mean "maxAttempts"?'],
  ])('%j is refused', (retry, message) => {
    expect(() => resolveRetry('test', retry)).toThrow(message)
  })
})
