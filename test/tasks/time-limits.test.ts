import { describe, expect, test } from 'vitest'

import {
  activity,
  type ActivityOptions,
  ActivityError,
  TimeoutError,
  workflow,
} from '../../src/index.ts'
import { deferred, openSpace } from '../support/engine.ts'
import { QUICK, stopped, tasksOf } from './support.ts'

const ONCE = { maxAttempts: 1 }

describe.concurrent('limits on time', () => {
  describe.each(['local', 'task'] as const)('of an activity that runs as a %s', (where) => {
    const route: ActivityOptions = where === 'task' ? { session: 's' } : {}

    test.each<[string, ActivityOptions, string]>([
      ['an attempt', { timeout: 60, retry: ONCE }, 'activity "waits" took longer than 60 ms'],
      [
        'silence',
        { heartbeatTimeout: 70, retry: ONCE },
        'activity "waits" sent no heartbeat for 70 ms',
      ],
    ])('%s that takes too long is over, and failed', async (_name, options, message) => {
      await using space = await openSpace('memory')
      const reasons: unknown[] = []
      const waits = activity('waits', async (_: undefined, ctx) => {
        const reason = await stopped(ctx)
        reasons.push(reason)
        throw reason
      })
      const limits = workflow('limits', async (_: undefined, ctx) =>
        ctx.run(waits, undefined, { ...options, ...route }),
      )
      const runtime = await space.open(limits, QUICK)

      const error = await runtime.run(limits, undefined, { timeout: '8s' }).catch((e: unknown) => e)

      const { cause } = error as { cause: ActivityError }
      expect(cause).toBeInstanceOf(ActivityError)
      expect(cause.cause).toBeInstanceOf(TimeoutError)
      expect(cause.cause).toMatchObject({ message })
      expect(reasons).toMatchObject([{ message }])
    })

    test('a time-out is retried', async () => {
      await using space = await openSpace('memory')
      const attempts: number[] = []
      const slow = activity(
        'slow',
        { retry: { delay: 1 }, timeout: 50 },
        async (_: undefined, ctx) => {
          attempts.push(ctx.attempt)
          if (ctx.attempt < 3) throw await stopped(ctx)
          return 'in time'
        },
      )
      const limits = workflow('limits', async (_: undefined, ctx) =>
        ctx.run(slow, undefined, route),
      )
      const runtime = await space.open(limits, QUICK)

      expect(await runtime.run(limits, undefined, { timeout: '8s' })).toBe('in time')
      expect(attempts).toEqual([1, 2, 3])
    })

    test('in all: what runs is aborted, nothing is retried, and no task is left', async () => {
      await using space = await openSpace('memory')
      const attempts: number[] = []
      const told = deferred<unknown>()
      const endless = activity(
        'endless',
        // Long enough for the third attempt to begin, however busy the machine is.
        { retry: { maxAttempts: 100, delay: 10, backoff: 'fixed' }, totalTimeout: 2_000 },
        async (_: undefined, ctx) => {
          attempts.push(ctx.attempt)
          if (ctx.attempt < 3) throw new Error('again')
          told.resolve(await stopped(ctx))
          throw new Error('stopped')
        },
      )
      const limits = workflow('limits', async (_: undefined, ctx) => {
        const error = await ctx.run(endless, undefined, route).catch((e: unknown) => e)
        await ctx.sleep(100)
        return [error instanceof TimeoutError, (error as Error).message]
      })
      const runtime = await space.open(limits, QUICK)
      const started = await runtime.start(limits, undefined, { id: 'i' })

      expect(await started.result({ timeout: '8s' })).toEqual([
        true,
        'activity "endless" took longer than 2000 ms',
      ])
      expect(attempts).toEqual([1, 2, 3])
      expect(await told.promise).toMatchObject({ name: 'CancelledError' })
      expect(await tasksOf(space, 'i')).toEqual([])
    })

    test('to begin: one that has begun is not concerned, and may be tried again later', async () => {
      await using space = await openSpace('memory')
      const late = activity(
        'late',
        {
          retry: { maxAttempts: 2, delay: 600, backoff: 'fixed', jitter: false },
          startTimeout: 400,
        },
        async (_: undefined, ctx) => {
          if (ctx.attempt === 1) throw new Error('again')
          return ctx.attempt
        },
      )
      const limits = workflow('limits', async (_: undefined, ctx) =>
        ctx.run(late, undefined, route),
      )
      const runtime = await space.open(limits, QUICK)

      expect(await runtime.run(limits, undefined, { timeout: '8s' })).toBe(2)
    })
  })

  test('a local one that waits too long for a slot fails, and never runs', async () => {
    await using space = await openSpace('memory')
    const ran: string[] = []
    const gate = deferred()
    const takes = activity('takes', async (name: string) => {
      ran.push(name)
      await gate.promise
    })
    const limits = workflow('limits', async (_: undefined, ctx) => {
      const first = ctx.run(takes, 'first')
      const error = await ctx
        .run(takes, 'second', { startTimeout: 100 })
        .catch((e: unknown) => e as Error)
      await ctx.step('open', () => gate.resolve())
      await first
      return (error as Error).message
    })
    // A step has to find a slot as well.
    const runtime = await space.open(limits, { concurrency: { activities: 1 }, ...QUICK })
    const started = await runtime.start(limits, undefined, { id: 'i' })
    setTimeout(() => gate.resolve(), 500)

    expect(await started.result({ timeout: '8s' })).toBe(
      'activity "takes" did not begin within 100 ms',
    )
    expect(ran).toEqual(['first'])
  })
})
