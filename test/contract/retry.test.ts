/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  type ActivityContext,
  ActivityError,
  channel,
  type Retry,
  workflow,
} from '../../src/index.ts'
import { resolveRetry, retryDelayMs } from '../../src/engine/define/retry.ts'
import { describeInPlaces, errorOf, untilItWaitsFor } from '../support/contract.ts'
import { typesOf } from '../support/histories.ts'

// Differences: a time-out counts as a failed attempt and is retried, it limits one attempt and not
// all of them, delays have jitter by default, and an exponential delay doubles.

const AT_ONCE = { backoff: 'none', jitter: false } as const
const go = channel<string>('go')

/** The delays after the first failures. */
function delays(retry: Retry, count = 4): (number | undefined)[] {
  const policy = resolveRetry('test', { maxAttempts: 1_000, jitter: false, ...retry })
  return Array.from({ length: count }, (_item, i) =>
    retryDelayMs(policy, i + 1, new Error(), () => 0),
  )
}

describe('retry policies', () => {
  test.each([
    ['is complete [test_retry_policy_default]', undefined],
    ['takes what is given [test_retry_policy_new]', { maxAttempts: 5 }],
    ['may allow one attempt [test_retry_policy_new_single_attempt]', { maxAttempts: 1 }],
    ['has a delay [test_retry_policy_builder_with_backoff]', { backoff: 'fixed', delay: 20 }],
    [
      'has all at once [test_retry_policy_builder_chained]',
      { maxAttempts: 9, delay: 1, jitter: false },
    ],
  ] as const)('a policy %s', (_title, given: Retry | undefined) => {
    const { delay, ...rest } = given ?? {}
    const usual = {
      maxAttempts: 3,
      backoff: 'exponential',
      delayMs: 1_000,
      maxDelayMs: 60_000,
      jitter: true,
      unless: [],
    }

    expect(resolveRetry('test', given)).toEqual({
      ...usual,
      ...rest,
      ...(delay !== undefined && { delayMs: delay }),
    })
  })

  test('no attempt at all is refused [test_retry_policy_new_zero_panics]', () => {
    expect(() => resolveRetry('test', { maxAttempts: 0 })).toThrow('maxAttempts')
  })

  test('the time of an attempt is an option of the activity [test_retry_policy_builder_with_timeout]', () => {
    expect(activity('timed', { timeout: '5s' }, () => 1)).toMatchObject({
      options: { timeoutMs: 5_000 },
    })
  })

  test('no time at all is refused [test_zero_duration_timeout]', () => {
    expect(() => activity('timed', { timeout: 0 }, () => 1)).toThrow('timeout')
  })

  test.each<[string, Retry, (number | undefined)[]]>([
    ['none is always 0 [test_backoff_none_always_zero]', { backoff: 'none' }, [0, 0, 0, 0]],
    [
      'fixed stays [test_backoff_fixed_same_delay]',
      { backoff: 'fixed', delay: 70 },
      [70, 70, 70, 70],
    ],
    [
      'fixed may be 0 [test_backoff_fixed_zero_delay]',
      { backoff: 'fixed', delay: 0 },
      [0, 0, 0, 0],
    ],
    [
      'linear grows by itself [test_backoff_linear_multiplies_by_attempt]',
      { backoff: 'linear', delay: 10 },
      [10, 20, 30, 40],
    ],
    [
      'linear has a limit [test_backoff_linear_respects_max]',
      { backoff: 'linear', delay: 10, maxDelay: 25 },
      [10, 20, 25, 25],
    ],
    [
      'linear may be 0 [test_backoff_linear_zero_base]',
      { backoff: 'linear', delay: 0 },
      [0, 0, 0, 0],
    ],
    ['exponential doubles [test_backoff_exponential_doubles]', { delay: 10 }, [10, 20, 40, 80]],
    [
      'exponential has a limit [test_backoff_exponential_respects_max]',
      { delay: 10, maxDelay: 30 },
      [10, 20, 30, 30],
    ],
    ['exponential may be 0 [test_backoff_exponential_zero_base]', { delay: 0 }, [0, 0, 0, 0]],
    [
      'the last attempt has none [test_policy_delay_for_attempt_delegates]',
      { delay: 5, maxAttempts: 3 },
      [5, 10, undefined, undefined],
    ],
  ])('%s', (_title, retry, expected) => {
    expect(delays(retry)).toEqual(expected)
  })

  test('it does not overflow [test_backoff_exponential_large_attempt_no_overflow]', () => {
    expect(delays({ delay: '1s', maxDelay: '1m' }, 900).at(-1)).toBe(60_000)
  })

  test('there may be very many attempts [test_large_max_attempts]', () => {
    expect(resolveRetry('test', { maxAttempts: 1_000_000 }).maxAttempts).toBe(1_000_000)
  })
})

describeInPlaces('attempts', (place) => {
  /** An activity that fails so often before it succeeds, and the attempts it saw. */
  const flaky = (name: string, failures: number) => {
    const attempts: number[] = []
    const definition = activity(name, (_: undefined, { attempt }: ActivityContext) => {
      attempts.push(attempt)
      if (attempt <= failures) throw new Error(`attempt ${attempt} failed`)
      return `after ${attempt}`
    })
    return { definition, attempts }
  }

  test.each<[string, number, Retry, number]>([
    ['succeeds at once [test_activity_succeeds_first_attempt]', 0, AT_ONCE, 1],
    ['fails, then succeeds [test_activity_fails_then_succeeds]', 2, AT_ONCE, 3],
    [
      'waits between its attempts [test_retry_with_fixed_backoff]',
      2,
      { backoff: 'fixed', delay: 5, jitter: false },
      3,
    ],
    ['does not wait [test_retry_with_no_backoff]', 4, { ...AT_ONCE, maxAttempts: 5 }, 5],
    [
      'is tried very often [test_large_max_attempts_integration]',
      30,
      { ...AT_ONCE, maxAttempts: 100 },
      31,
    ],
    ['keeps its type [test_typed_activity_retry_success]', 1, AT_ONCE, 2],
  ])('an activity %s', async (title, failures, retry, tried) => {
    const { definition, attempts } = flaky(`flaky-${title.length}`, failures)
    const runs = workflow(`a-runs-${title.length}`, async (_: undefined, ctx) =>
      ctx.run(definition, undefined, { retry }),
    )
    const runtime = await place.open(runs)

    expect(await runtime.run(runs)).toBe(`after ${tried}`)
    expect(attempts).toEqual(Array.from({ length: tried }, (_item, i) => i + 1))
  })

  test.each([
    ['all attempts [test_activity_exhausts_all_attempts]', 3],
    ['its only attempt [test_single_attempt_fails]', 1],
  ])('an activity that fails %s is an error', async (_title, maxAttempts) => {
    const { definition, attempts } = flaky(`failing-${maxAttempts}`, 99)
    const runs = workflow(`a-fails-${maxAttempts}`, async (_: undefined, ctx) => {
      const error = await errorOf(
        ctx.run(definition, undefined, { retry: { ...AT_ONCE, maxAttempts } }),
      )
      return error instanceof ActivityError ? [error.attempts, error.message] : []
    })
    const runtime = await place.open(runs)

    const [tried, message] = await runtime.run(runs)

    expect(tried).toBe(maxAttempts)
    expect(message).toContain(`attempt ${maxAttempts} failed`)
    expect(attempts).toHaveLength(maxAttempts)
  })

  /** An activity whose first attempts last until they are aborted. */
  const slow = (name: string, times: number) => {
    const attempts: number[] = []
    const definition = activity(
      name,
      async (_: undefined, { attempt, signal }: ActivityContext) => {
        attempts.push(attempt)
        if (attempt > times) return 'in time'
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return 'late'
      },
    )
    return { definition, attempts }
  }

  test.each<[string, number, number, string]>([
    ['is an error [test_timeout_fires_before_success]', 99, 1, 'TimeoutError'],
    ['may be very short [test_very_short_timeout]', 99, 2, 'TimeoutError'],
    ['is tried again [test_timeout_exits_immediately_without_retry]', 1, 3, 'in time'],
    ['is tried again like an error [test_error_retries_but_timeout_exits]', 2, 3, 'in time'],
  ])('an attempt that takes too long %s', async (title, times, maxAttempts, expected) => {
    const { definition, attempts } = slow(`slow-${title.length}`, times)
    const runs = workflow(`a-slow-${title.length}`, async (_: undefined, ctx) => {
      try {
        return await ctx.run(definition, undefined, {
          timeout: 5,
          retry: { ...AT_ONCE, maxAttempts },
        })
      } catch (error) {
        return ((error as Error).cause as Error | undefined)?.name ?? (error as Error).name
      }
    })
    const runtime = await place.open(runs)

    expect(await runtime.run(runs)).toBe(expected)
    expect(attempts).toHaveLength(Math.min(times + 1, maxAttempts))
  })

  test('an attempt that ends in time is not aborted [test_success_before_timeout]', async () => {
    const { definition, attempts } = slow('in-time', 0)
    const runs = workflow('a-in-time', async (_: undefined, ctx) =>
      ctx.run(definition, undefined, { timeout: '10s' }),
    )
    const runtime = await place.open(runs)

    expect(await runtime.run(runs)).toBe('in time')
    expect(attempts).toEqual([1])
  })

  test('failed attempts are recorded when the delay is long [test_history_contains_all_activity_scheduled_events]', async () => {
    const { definition } = flaky('recorded', 1)
    const runs = workflow('a-recorded', async (_: undefined, ctx) =>
      ctx.run(definition, undefined, { retry: { delay: '1s', jitter: false } }),
    )
    const runtime = await place.open(runs)
    const instance = await runtime.start(runs)

    expect(await instance.result()).toBe('after 2')
    expect(await typesOf(instance)).toEqual([
      'started',
      'activity',
      'attempt',
      'completed',
      'ended',
    ])
  })

  test.each([
    ['failures [test_replay_with_stale_events_in_history]', 'replays-failures'],
    ['time-outs [test_timeout_history_replays_correctly]', 'replays-timeouts'],
  ])('a history with %s replays', async (_title, name) => {
    const { definition, attempts } = name === 'replays-failures' ? flaky(name, 2) : slow(name, 1)
    const runs = workflow(`a-${name}`, async (_: undefined, ctx) => {
      const result = await ctx.run(definition, undefined, { timeout: 20, retry: AT_ONCE })
      await ctx.receive(go)
      return result
    })
    const first = await place.open(runs)
    await untilItWaitsFor(await first.start(runs, undefined, { id: name }), 'channel "go"')
    const before = attempts.length
    await first.close({ drain: 0 })
    const second = await place.open(runs)
    await second.get(name).send(go, 'on')

    expect(await second.get(name).result()).toMatch(/^(after 3|in time)$/)
    expect(attempts).toHaveLength(before)
  })

  test.each([
    ['an activity that was left behind [test_activity_completes_after_continue_as_new]', 'left'],
    ['one that ran out of time [test_retry_timeout_with_continue_as_new]', 'late'],
  ])('the next execution is not affected by %s', async (_title, how) => {
    const { definition } = slow(`can-${how}`, 99)
    const rolls = workflow(`a-can-${how}`, async (n: number, ctx): Promise<string> => {
      if (n > 0) return ctx.receive(go)
      const retry = { maxAttempts: 1 }
      const left = ctx.run(
        definition,
        undefined,
        how === 'left' ? { retry } : { retry, timeout: 5 },
      )
      left.catch(() => {})
      // By then it has begun: one that never does is a forgotten await.
      await (how === 'left' ? ctx.sleep(1) : errorOf(left))
      return ctx.continueAsNew(1)
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await instance.send(go, 'second')

    expect(await instance.result()).toBe('second')
    expect(await typesOf(instance)).toEqual(['started', 'receive', 'received', 'ended'])
  })

  test('many instances retry side by side [test_multiple_orchestrations_retrying]', async () => {
    const { definition } = flaky('many-flaky', 2)
    const runs = workflow(
      'a-many',
      async (n: number, ctx) => `${n} ${await ctx.run(definition, undefined, { retry: AT_ONCE })}`,
    )
    const runtime = await place.open(runs)

    const results = await Promise.all([1, 2, 3, 4, 5].map((n) => runtime.run(runs, n)))

    expect(results).toEqual([1, 2, 3, 4, 5].map((n) => `${n} after 3`))
  })
})
