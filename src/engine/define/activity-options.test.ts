import { describe, expect, test } from 'vitest'

import { type ActivityOptions, mergeActivityOptions } from './activity-options.ts'
import { activity, type ActivityDefinition } from './definitions.ts'
import { type Limit, resolveLimit } from './limit.ts'
import { limitOf } from '../instance/activity-work.ts'

const DEFAULT_RETRY = {
  maxAttempts: 3,
  backoff: 'exponential',
  delayMs: 1_000,
  maxDelayMs: 60_000,
  jitter: true,
  unless: [],
}

const key = (n: number): string => `${n}`

const defined = (options: ActivityOptions & { limit?: Limit<number> }): ActivityDefinition =>
  activity('a', options, async (n: number) => n) as unknown as ActivityDefinition

describe('options of an activity', () => {
  test('none are needed', () => {
    expect(mergeActivityOptions('test', undefined, undefined)).toEqual({
      retry: DEFAULT_RETRY,
      timeoutMs: undefined,
      totalTimeoutMs: undefined,
      startTimeoutMs: undefined,
      heartbeatTimeoutMs: undefined,
      tag: '',
      session: '',
    })
  })

  test('options of a call override those of the definition, one by one', () => {
    const { options } = defined({
      retry: { maxAttempts: 7 },
      timeout: '1s',
      totalTimeout: '2s',
      startTimeout: '3s',
      heartbeatTimeout: '4s',
      tag: 'gpu',
      session: 's',
    })

    expect(mergeActivityOptions('test', options, undefined)).toBe(options)
    expect(mergeActivityOptions('test', options, {})).toEqual(options)
    expect(mergeActivityOptions('test', options, { totalTimeout: 5, tag: 'cpu' })).toEqual({
      retry: { ...DEFAULT_RETRY, maxAttempts: 7 },
      timeoutMs: 1_000,
      totalTimeoutMs: 5,
      startTimeoutMs: 3_000,
      heartbeatTimeoutMs: 4_000,
      tag: 'cpu',
      session: 's',
    })
  })

  test('a policy of a call replaces the whole policy', () => {
    const { options } = defined({ retry: { maxAttempts: 7, backoff: 'fixed' } })

    const { retry } = mergeActivityOptions('test', options, { retry: { delay: 5 } })

    expect(retry).toEqual({ ...DEFAULT_RETRY, delayMs: 5 })
  })

  test.each([
    [{ timeout: 0 }, 'test: timeout must be at least 1 ms, got 0'],
    [{ tag: '' }, /^test: tag must be a string of 1 to 500 characters/],
    [{ session: 's'.repeat(501) }, /^test: session must be a string of 1 to 500 characters/],
    [{ tags: ['gpu'] }, 'test: unknown option "tags", did you mean "tag"?'],
    [{ heartbeat: 5 }, /^test: unknown option "heartbeat"/],
    [{ limit: { concurrency: 1 } }, /^test: unknown option "limit"/],
    [{ retry: { maxAttempts: 0 } }, /^test: retry: maxAttempts must be a whole number, 1 or more/],
    [{ retry: { attempts: 2 } }, /^test: retry: unknown option "attempts"/],
    [
      { retry: { unless: [RangeError] } },
      /^test: retry: unless\[0\] must be a class created by failure\(\)/,
    ],
  ])('%j is refused', (given, message) => {
    expect(() => mergeActivityOptions('test', undefined, given as object)).toThrow(message)
  })
})

describe('a limit', () => {
  test('is read', () => {
    expect(resolveLimit({ concurrency: 2 }, 'test')).toEqual({
      concurrency: 2,
      rate: undefined,
      key: undefined,
    })
    expect(resolveLimit({ rate: { count: 5, per: '2s' }, key }, 'test')).toEqual({
      concurrency: undefined,
      rate: { count: 5, perMs: 2_000 },
      key,
    })
  })

  test.each([
    [{}, 'test must have a concurrency or a rate'],
    [{ concurrency: 0 }, 'test: concurrency must be a whole number, from 1 to 2147483647, got 0'],
    [
      { concurrency: 1.5 },
      'test: concurrency must be a whole number, from 1 to 2147483647, got 1.5',
    ],
    [{ rate: { count: 5 } }, 'test: rate needs both count and per'],
    [{ rate: { per: '1s' } }, 'test: rate needs both count and per'],
    [{ rate: { count: 1, per: 0 } }, 'test: rate: per must be at least 1 ms, got 0'],
    [{ rate: 5 }, 'test: rate: options must be a plain object, got 5'],
    [{ concurrency: 1, key: 'k' }, 'test: key must be a function of the input, got "k"'],
    [{ concurency: 1 }, 'test: unknown option "concurency", did you mean "concurrency"?'],
  ])('%j is refused', (given, message) => {
    expect(() => resolveLimit(given, 'test')).toThrow(message)
  })

  test('is shared by all calls of an activity, or by those with the same key', () => {
    const all = defined({ limit: { concurrency: 2 } })
    const keyed = defined({ limit: { concurrency: 2, key: (n: number) => `k${n % 2}` } })

    expect(limitOf(defined({}), 1)).toBeNull()
    expect(limitOf(all, 1)).toEqual({ key: '["a"]', concurrency: 2, rate: null })
    expect(limitOf(keyed, 1)).toEqual(limitOf(keyed, 3))
    expect(limitOf(keyed, 1)!.key).not.toBe(limitOf(keyed, 2)!.key)
  })

  test('has keys that no other activity shares, whatever its name', () => {
    const one = activity('a', { limit: { concurrency: 1, key: () => 'b' } }, async () => {})
    const other = activity('["a","b"]', { limit: { concurrency: 1 } }, async () => {})
    const keys = [one, other].map(
      (definition) => limitOf(definition as unknown as ActivityDefinition, 1)!.key,
    )

    expect(new Set(keys).size).toBe(2)
  })

  test.each([[7], ['x'.repeat(501)], [undefined]])('a key of %j is refused', (given) => {
    const odd = defined({ limit: { concurrency: 1, key: () => given as string } })

    expect(() => limitOf(odd, 1)).toThrow(
      /^activity "a": limit.key must return text of at most 500 characters, without .*, got/,
    )
  })
})
