/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { expect, test } from 'vitest'

import {
  activity,
  ActivityError,
  failure,
  TimeoutError,
  workflow,
  WorkflowError,
} from '../../src/index.ts'
import type { ActivityContext } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const NOW = { delay: 1, jitter: false } as const
const CardDeclined = failure<{ code: string }>('CardDeclinedInTest', { retryable: false })
const Busy = failure('BusyInTest')

const caught = (error: unknown): unknown => error

describeOnStores('errors', (kind) => {
  test('a failure comes back as itself, with its details, from activity to workflow to caller', async () => {
    await using space = await openSpace(kind)
    let seen: unknown
    const charge = activity('charge', async (): Promise<string> => {
      throw new CardDeclined('no money', { code: 'funds' })
    })
    const pay = workflow('pay', async (_, ctx) => {
      try {
        return await ctx.run(charge)
      } catch (error) {
        seen = error
        throw error
      }
    })
    const holdfast = await space.open(pay)

    const handle = await holdfast.start(pay)
    const error = await handle.result().catch(caught)

    expect(seen).toBeInstanceOf(CardDeclined)
    expect(error).toBeInstanceOf(CardDeclined)
    expect(error).toMatchObject({ message: 'no money', details: { code: 'funds' } })
    expect(await handle.info()).toMatchObject({
      status: 'failed',
      error: { name: 'CardDeclinedInTest', message: 'no money' },
    })
    await expect(space.connect().get(pay, handle.id).result()).rejects.toBeInstanceOf(CardDeclined)
  })

  test('an activity may throw any amount of text: it is shortened, and the workflow continues', async () => {
    await using space = await openSpace(kind)
    const loud = activity('loud', { retry: { maxAttempts: 1 } }, async () => {
      throw new Error('m'.repeat(5_000_000), { cause: { body: 'c'.repeat(5_000_000) } })
    })
    const asks = workflow('asks', async (_, ctx) => {
      const error = (await ctx.run(loud).catch(caught)) as ActivityError
      throw new Error(error.message + 'w'.repeat(1_000_000))
    })
    const holdfast = await space.open(asks)
    const handle = await holdfast.start(asks)

    const error = (await handle.result().catch(caught)) as Error

    expect(error.message).toMatch(/m… \(\d+ more characters\)/)
    expect(error.message.length).toBeLessThanOrEqual(65_536)
    expect(JSON.stringify(await handle.export()).length).toBeLessThan(500_000)
  })

  test('another error becomes an ActivityError that says how often it was tried', async () => {
    await using space = await openSpace(kind)
    let tries = 0
    const flaky = activity('flaky', { retry: { ...NOW, maxAttempts: 4 } }, async () => {
      tries++
      throw new RangeError(`no ${tries}`)
    })
    let seen: ActivityError | undefined
    const run = workflow('run', async (_, ctx) => {
      try {
        await ctx.run(flaky)
      } catch (error) {
        seen = error as ActivityError
      }
    })
    const holdfast = await space.open(run)

    await holdfast.run(run)

    expect(tries).toBe(4)
    expect(seen).toBeInstanceOf(ActivityError)
    expect(seen).toMatchObject({
      name: 'ActivityError',
      activity: 'flaky',
      attempts: 4,
      originalName: 'RangeError',
      message: 'activity "flaky" failed after 4 attempts: no 4',
    })
    expect(seen!.cause).toBeInstanceOf(RangeError)
  })

  test('what a workflow throws becomes a WorkflowError with the cause as it was', async () => {
    await using space = await openSpace(kind)
    class OrderLost extends Error {
      override name = 'OrderLost'
    }
    const fails = workflow('fails', async () => {
      throw new OrderLost('where is it?', { cause: new Error('the cat') })
    })
    const holdfast = await space.open(fails)

    const error = await holdfast.run(fails, undefined, { id: 'f' }).catch(caught)

    expect(error).toBeInstanceOf(WorkflowError)
    expect(error).toMatchObject({
      message: 'workflow "fails" failed: where is it?',
      instanceId: 'f',
      workflow: 'fails',
      originalName: 'OrderLost',
      cause: { name: 'OrderLost', message: 'where is it?', cause: { message: 'the cat' } },
    })
  })

  test.each([['text'], [undefined], [null], [42], [{ message: 'like an error' }]])(
    'throwing %j is an error like any other',
    async (thrown) => {
      await using space = await openSpace(kind)
      const throws = workflow('throws', async () => {
        // oxlint-disable-next-line typescript/only-throw-error -- that is what is tried
        throw thrown
      })
      const holdfast = await space.open(throws)

      await expect(holdfast.run(throws)).rejects.toBeInstanceOf(WorkflowError)
    },
  )

  test('an uncaught error of a step fails the workflow', async () => {
    await using space = await openSpace(kind)
    const fails = workflow('fails', async (_, ctx) =>
      ctx.step('bad', () => Promise.reject(new TypeError('bad')), { retry: { maxAttempts: 1 } }),
    )
    const holdfast = await space.open(fails)

    const error = await holdfast.run(fails).catch(caught)

    expect(error).toMatchObject({
      originalName: 'ActivityError',
      cause: { name: 'ActivityError', attempts: 1, cause: { name: 'TypeError', message: 'bad' } },
    })
  })

  test('an activity that recovers is tried until it does', async () => {
    await using space = await openSpace(kind)
    const attempts: [number, string][] = []
    const flaky = activity('flaky', { retry: NOW }, async (_, ctx: ActivityContext) => {
      attempts.push([ctx.attempt, ctx.idempotencyKey])
      if (ctx.attempt < 3) throw new Busy('later')
      return 'ok'
    })
    const run = workflow('run', async (_, ctx) => ctx.run(flaky))
    const holdfast = await space.open(run)

    expect(await holdfast.run(run)).toBe('ok')
    expect(attempts.map(([attempt]) => attempt)).toEqual([1, 2, 3])
    expect(new Set(attempts.map(([, key]) => key)).size).toBe(1)
  })

  test('an activity is tried three times by default', async () => {
    await using space = await openSpace(kind)
    let tries = 0
    const fails = workflow('fails', async (_, ctx) =>
      ctx.step('bad', () => Promise.reject(new Error(`${++tries}`)), { retry: NOW }),
    )
    const holdfast = await space.open(fails)

    await expect(holdfast.run(fails)).rejects.toThrow('failed after 3 attempts')
    expect(tries).toBe(3)
  })

  test('a failure that is not retryable, or named in unless, is final at once', async () => {
    await using space = await openSpace(kind)
    const tries = { declined: 0, busy: 0 }
    const run = workflow('run', async (_, ctx) =>
      Promise.allSettled([
        ctx.step(
          'declined',
          () => {
            tries.declined++
            throw new CardDeclined('no', { code: 'x' })
          },
          { retry: NOW },
        ),
        ctx.step(
          'busy',
          () => {
            tries.busy++
            throw new Busy('no')
          },
          { retry: { ...NOW, unless: [Busy] } },
        ),
      ]).then((all) => all.map(({ status }) => status)),
    )
    const holdfast = await space.open(run)

    expect(await holdfast.run(run)).toEqual(['rejected', 'rejected'])
    expect(tries).toEqual({ declined: 1, busy: 1 })
  })

  test('an attempt that takes too long aborts its signal and is tried again', async () => {
    await using space = await openSpace(kind)
    const reasons: unknown[] = []
    const slow = activity('slow', { timeout: 20, retry: NOW }, async (_, ctx: ActivityContext) => {
      if (ctx.attempt === 3) return 'in time'
      return new Promise<string>((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          reasons.push(ctx.signal.reason)
          reject(new Error('stopped'))
        })
      })
    })
    const run = workflow('run', async (_, ctx) => ctx.run(slow))
    const holdfast = await space.open(run)

    expect(await holdfast.run(run)).toBe('in time')
    expect(reasons).toHaveLength(2)
    expect(reasons[0]).toBeInstanceOf(TimeoutError)
  })

  test('an activity that never ends in time fails with the timeout as cause', async () => {
    await using space = await openSpace(kind)
    const never = activity('never', { timeout: 5, retry: { ...NOW, maxAttempts: 2 } }, () => {
      return new Promise<void>(() => {})
    })
    const run = workflow('run', async (_, ctx) => ctx.run(never))
    const holdfast = await space.open(run)

    const error = await holdfast.run(run).catch(caught)

    expect(error).toMatchObject({
      cause: {
        name: 'ActivityError',
        attempts: 2,
        originalName: 'TimeoutError',
        cause: { name: 'TimeoutError', afterMs: 5 },
      },
    })
    expect(((error as Error).cause as Error).cause).toBeInstanceOf(TimeoutError)
  })

  test('options at the call go before those of the definition', async () => {
    await using space = await openSpace(kind)
    let tries = 0
    const bad = activity('bad', { retry: { ...NOW, maxAttempts: 9 } }, async () => {
      tries++
      throw new Error('bad')
    })
    const run = workflow('run', async (_, ctx) =>
      ctx.run(bad, undefined, { retry: { maxAttempts: 2, delay: 1 } }),
    )
    const holdfast = await space.open(run)

    await expect(holdfast.run(run)).rejects.toThrow('failed after 2 attempts')
    expect(tries).toBe(2)
  })

  test('a result that cannot be stored is an error of its activity', async () => {
    await using space = await openSpace(kind)
    const bad = activity('bad', { retry: { maxAttempts: 1 } }, async () => ({ f: () => 1 }))
    const run = workflow('run', async (_, ctx) => {
      await ctx.run(bad)
    })
    const holdfast = await space.open(run)

    await expect(holdfast.run(run)).rejects.toThrow(
      'activity "bad": its result: cannot store a function at $.f',
    )
  })

  test('a result of the workflow that cannot be stored fails the workflow', async () => {
    await using space = await openSpace(kind)
    const bad = workflow('bad', async () => ({
      when: new (class Moment {
        readonly at = 1
      })(),
    }))
    const holdfast = await space.open(bad)

    await expect(holdfast.run(bad)).rejects.toThrow(
      'workflow "bad": its result: cannot store an instance of Moment at $.when',
    )
  })

  test('a workflow that throws before its first wait fails, even when it is not async', async () => {
    await using space = await openSpace(kind)
    const throws = workflow('throws', (): Promise<void> => {
      throw new Error('at once')
    })
    const holdfast = await space.open(throws)

    await expect(holdfast.run(throws)).rejects.toThrow('at once')
  })

  test('info says that an attempt failed and when the next one is due', async () => {
    await using space = await openSpace(kind)
    const bad = activity(
      'bad (sometimes)',
      { retry: { delay: '1h', maxDelay: '1h' } },
      async () => {
        throw new Error('bad')
      },
    )
    const run = workflow('run', async (_, ctx) => ctx.run(bad))
    const holdfast = await space.open(run)

    const handle = await holdfast.start(run)
    const info = await eventually(async () => {
      const now = (await handle.info())!
      return now.waitingFor[0]?.includes('failed') && now
    })

    expect(info.waitingFor).toEqual([
      expect.stringMatching(
        /^activity "bad \(sometimes\)": attempt 2 at \d{4}-\d\d-\d\dT[\d:.]+Z; attempt 1 failed with Error: /,
      ),
    ])
  })
})
