import { describe, expect, test } from 'vitest'

import { callOf, testAttempts, testBeats, TestCall } from '../../../../test/tasks/attempts.ts'
import { values } from '../../../../test/support/executions.ts'
import { testCore } from '../../../../test/support/runtime-core.ts'
import { CancelledError, failure } from '../../../base/errors.ts'
import { sleep } from '../../../base/time/clock.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { ActivityContext } from '../../define/activity-context.ts'
import { activity, type ActivityDefinition } from '../../define/definitions.ts'
import { resolveRetry } from '../../define/retry.ts'
import type { Schema } from '../../../base/schema.ts'
import type { ActivityCallSpec } from './activity-call.ts'
import type { Heartbeats } from './heartbeats.ts'

const Declined = failure<{ code: number }>('DeclinedInAttemptTest')
const Final = failure('FinalInAttemptTest', { retryable: false })

const declines = (): Promise<never> => Promise.reject(new Declined('no', { code: 3 }))
const fails = (): Promise<never> => Promise.reject(new Error('no'))

/** Attempts on virtual time. */
function openAttempts(beats: Partial<Heartbeats> = {}) {
  const clock = virtualClock()
  const attempts = testAttempts(testCore(clock), testBeats(beats))
  return {
    clock,
    /** Runs code once, until it is over. */
    attempt: async (
      code: (ctx: ActivityContext) => unknown,
      how: Partial<ActivityCallSpec> & { readonly number?: number } = {},
    ) => {
      const { number = 1, ...about } = how
      const call = callOf(attempts, code, about, number)
      const end = await clock.until(Promise.resolve(attempts.run(call)))
      return { call, end, at: clock.now() }
    },
    /** Runs an activity with code once. */
    attemptOf: async (definition: unknown, input: unknown) => {
      const call = new TestCall(attempts, {
        name: 'work',
        step: undefined,
        definition: definition as ActivityDefinition,
        input: values.encode(input, 'input'),
      })
      return clock.until(Promise.resolve(attempts.run(call)))
    },
  }
}

/** The error that an attempt ended with. */
const errorOf = (end: object): unknown =>
  'payload' in end ? values.error(end.payload as string) : undefined

describe('an attempt', () => {
  test('its result is encoded', async () => {
    const { attempt, clock } = openAttempts()

    const { end, call } = await attempt(async () => new Map([['a', 1n]]))

    expect(end.kind).toBe('completed')
    expect(values.value((end as { payload: string }).payload)).toEqual(new Map([['a', 1n]]))
    expect([call.begun, clock.pending]).toEqual([true, 0])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new RangeError('no')
      },
    ],
    ['rejects', () => Promise.reject(new RangeError('no'))],
  ])('code that %s is tried again after the delay of its policy', async (_, code) => {
    const { attempt } = openAttempts()

    const { end } = await attempt(code, { number: 2 })

    expect(end).toMatchObject({ kind: 'retry', delayMs: 2_000 })
    expect(values.error((end as { error: string }).error)).toMatchObject({ name: 'RangeError' })
  })

  test('the last attempt fails with an ActivityError that says how many there were', async () => {
    const { attempt } = openAttempts()

    const { end } = await attempt(() => Promise.reject(new RangeError('no')), { number: 3 })

    expect(end.kind).toBe('failed')
    expect(errorOf(end)).toMatchObject({
      name: 'ActivityError',
      message: 'step "work" failed after 3 attempts: no',
      activity: 'work',
      attempts: 3,
      originalName: 'RangeError',
      cause: { name: 'RangeError', message: 'no' },
    })
  })

  test('a failure that is not retryable is final, and stays itself', async () => {
    const { attempt } = openAttempts()

    const { end } = await attempt(() => Promise.reject(new Final('never')))

    expect(end.kind).toBe('failed')
    expect(errorOf(end)).toBeInstanceOf(Final)
  })

  test('a failure that the policy names is final, whichever class of that name was thrown', async () => {
    const { attempt } = openAttempts()
    // The name travels with a task, not the class.
    const retry = { ...resolveRetry('test'), unless: ['DeclinedInAttemptTest'] }

    expect((await attempt(declines)).end.kind).toBe('retry')
    const { end } = await attempt(declines, { retry })

    expect(end.kind).toBe('failed')
    expect(errorOf(end)).toMatchObject({ name: 'DeclinedInAttemptTest', details: { code: 3 } })
  })

  test('no attempt follows that could only begin after the deadline', async () => {
    const { attempt, clock } = openAttempts()
    await clock.advance(500)

    expect((await attempt(fails, { deadline: 1_501 })).end.kind).toBe('retry')
    const { end } = await attempt(fails, { deadline: 1_500 })

    expect(end.kind).toBe('failed')
    expect(errorOf(end)).toMatchObject({ name: 'ActivityError', attempts: 1 })
  })

  test('a result that cannot be stored is final', async () => {
    const { attempt } = openAttempts()

    const { end } = await attempt(() => ({ f: () => 1 }))

    expect(end.kind).toBe('failed')
    expect(errorOf(end)).toMatchObject({
      message: expect.stringMatching(/^step "work" failed after 1 attempt: .*its result/),
    })
  })

  test('an input that is not valid is final, and the code is not called', async () => {
    const { attemptOf } = openAttempts()
    let calls = 0
    const odd: Schema<number, number> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          (value as number) % 2 === 1
            ? { value: value as number }
            : { issues: [{ message: 'even' }] },
      },
    }
    const work = activity('work', { input: odd }, async (n: number) => {
      calls++
      return n * 10
    })

    expect(await attemptOf(work, 3)).toEqual({ kind: 'completed', payload: '30' })
    const end = await attemptOf(work, 4)

    expect([end.kind, calls]).toEqual(['failed', 1])
    expect(errorOf(end)).toMatchObject({ message: expect.stringContaining('even') })
  })

  describe('with a timeout', () => {
    test('ends at that moment: its signal aborts, and it counts as failed', async () => {
      const { attempt, clock } = openAttempts()
      let reason: unknown

      const { end, at } = await attempt(
        (ctx) => {
          ctx.signal.addEventListener('abort', () => (reason = ctx.signal.reason))
          return new Promise(() => {})
        },
        { timeoutMs: 250 },
      )

      expect(at).toBe(250)
      expect(end).toMatchObject({ kind: 'retry', delayMs: 1_000 })
      expect(reason).toMatchObject({
        name: 'TimeoutError',
        message: 'step "work" took longer than 250 ms',
        afterMs: 250,
      })
      expect(clock.pending).toBe(0)
    })

    test('names the timeout as the cause when it was the last attempt', async () => {
      const { attempt } = openAttempts()

      const { end } = await attempt(() => new Promise(() => {}), { timeoutMs: 250, number: 3 })

      expect(errorOf(end)).toMatchObject({ name: 'ActivityError', cause: { name: 'TimeoutError' } })
    })

    test('is not over when it ends in time, and leaves no timer', async () => {
      const { attempt, clock } = openAttempts()

      const { end, at, call } = await attempt(() => sleep(clock, 249).then(() => 'in time'), {
        timeoutMs: 250,
        heartbeatTimeoutMs: 10_000,
      })

      expect([end, at]).toEqual([{ kind: 'completed', payload: '"in time"' }, 249])
      expect([clock.pending, call.signal.aborted]).toEqual([0, false])
    })

    test('code that runs on after that changes nothing', async () => {
      const { attempt, clock } = openAttempts()

      const { end } = await attempt(
        () => sleep(clock, 300).then(() => Promise.reject(new Error('too late'))),
        { timeoutMs: 250, number: 3 },
      )
      await clock.advance(1_000)

      expect(errorOf(end)).toMatchObject({ cause: { name: 'TimeoutError' } })
    })
  })

  describe('with a heartbeat timeout', () => {
    test('ends when no heartbeat comes for that long after its start', async () => {
      const { attempt, clock } = openAttempts()

      const { end, at, call } = await attempt(() => new Promise(() => {}), {
        heartbeatTimeoutMs: 400,
        number: 3,
      })

      expect(at).toBe(400)
      expect(errorOf(end)).toMatchObject({
        cause: { message: 'step "work" sent no heartbeat for 400 ms' },
      })
      expect(call.signal.reason).toMatchObject({ name: 'TimeoutError', afterMs: 400 })
      expect(clock.pending).toBe(0)
    })

    test('continues as long as heartbeats come, and the timeout counts from the last one', async () => {
      const { attempt, clock } = openAttempts()

      const { end, at } = await attempt(
        async (ctx) => {
          for (let i = 0; i < 5; i++) {
            await sleep(clock, 399)
            ctx.heartbeat()
          }
          return new Promise(() => {})
        },
        { heartbeatTimeoutMs: 400 },
      )

      expect([end.kind, at]).toEqual(['retry', 5 * 399 + 400])
    })

    test('a heartbeat after the end, or of an unwanted attempt, is ignored', async () => {
      const beats: unknown[] = []
      const { attempt, clock } = openAttempts({ beat: (_, details) => void beats.push(details) })

      const { call } = await attempt((ctx) => ctx.heartbeat({ at: 1 }), { heartbeatTimeoutMs: 400 })
      call.wanted = false
      call.heartbeat({ at: 2 })

      expect([beats, clock.pending]).toEqual([['{"at":1}'], 0])
    })
  })

  test('ctx.heartbeat throws when its details cannot be stored', async () => {
    const { attempt } = openAttempts()

    const { end } = await attempt((ctx) => ctx.heartbeat(() => 1), { number: 3 })

    expect(errorOf(end)).toMatchObject({
      message: expect.stringContaining('step "work": ctx.heartbeat'),
    })
  })

  test('an aborted attempt sees the reason in its signal', async () => {
    const { attempt, clock } = openAttempts()
    let running: { abort(reason: string): void } | undefined
    const stopping = sleep(clock, 10).then(() => running!.abort('enough'))

    const { end } = await attempt((ctx) => {
      running = ctx as unknown as typeof running
      return new Promise((_, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
      })
    })
    await stopping

    expect(values.error((end as { error: string }).error)).toBeInstanceOf(CancelledError)
  })

  test('the context says what runs', async () => {
    const { attempt } = openAttempts()

    const { end } = await attempt((ctx) => [ctx.info, ctx.attempt, ctx.idempotencyKey], {
      tag: 'gpu',
      session: 's1',
      number: 2,
    })

    expect(values.value((end as { payload: string }).payload)).toEqual([
      { instanceId: 'i', workflow: 'test', activity: 'work', tag: 'gpu', session: 's1' },
      2,
      'key',
    ])
  })
})
