import { describe, expect, test } from 'vitest'

import { activity, failure, open, type Retry, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { silentLog } from '../../src/base/log.ts'
import { dataOf, eventsOf, freezable, QUICK, tasksOf } from './support.ts'

describe('retry policies', () => {
  const failing = activity('failing', async (_: undefined, ctx) => {
    throw new Error(`attempt ${ctx.attempt}`)
  })
  const fails = workflow('fails', async (retry: Retry, ctx) =>
    ctx.run(failing, undefined, { retry: { maxAttempts: 4, jitter: false, ...retry } }),
  )

  // The third delay is seen in the history as soon as the third attempt has failed.
  test.concurrent.each<[Retry, readonly number[]]>([
    [{ backoff: 'exponential' }, [1_000, 2_000, 4_000]],
    [{ backoff: 'linear' }, [1_000, 2_000, 3_000]],
    [{ backoff: 'fixed' }, [1_000, 1_000, 1_000]],
    [{ backoff: 'exponential', maxDelay: 1_500 }, [1_000, 1_500, 1_500]],
  ])('of %j make these delays, as history has them', async (retry, delays) => {
    await using runtime = await open('memory:', { register: fails, log: silentLog })
    const started = await runtime.start(fails, retry, { id: 'i' })
    const attempts = await eventually(async () => {
      const events = (await eventsOf(started)).filter(({ type }) => type === 'attempt')
      return events.length === 3 && events
    })

    // When an attempt failed, and when the next one is to be made.
    const seen = attempts.map(({ at, data }) => {
      const { attempt, retryAt } = data as { attempt: number; retryAt: number }
      return [attempt, Math.round((retryAt - at.getTime()) / 100) * 100]
    })
    expect(seen).toEqual(delays.map((delay, i) => [i + 1, delay]))
    await started.terminate()
  })

  test('without delays leave nothing in the history but how it ended', async () => {
    await using runtime = await open('memory:', { register: fails, log: silentLog })
    const started = await runtime.start(fails, { backoff: 'none' }, { id: 'i' })

    await expect(started.result()).rejects.toThrow('attempt 4')

    const types = (await eventsOf(started)).map(({ type }) => type)
    expect(types).toEqual(['started', 'activity', 'failed', 'ended'])
  })
})

describeOnStores('retries', (kind) => {
  const Declined = failure<{ code: number }>('DeclinedInRetriesTest')

  test('what a policy calls final is not tried again, as a task neither', async () => {
    await using space = await openSpace(kind)
    const ran: string[] = []
    const declines = activity(
      'declines',
      { retry: { delay: 1, unless: [Declined] } },
      async (where: string) => {
        ran.push(where)
        throw new Declined('no', { code: 4 })
      },
    )
    const both = workflow('both', async (_: undefined, ctx) => {
      const codes: number[] = []
      for (const options of [{}, { session: 'away' }]) {
        const error = await ctx.run(declines, 'there', options).catch((e: unknown) => e)
        codes.push((error as InstanceType<typeof Declined>).details.code)
      }
      return codes
    })
    const runtime = await space.open(both, QUICK)

    expect(await runtime.run(both, undefined, { timeout: '10s' })).toEqual([4, 4])
    expect(ran).toHaveLength(2)
  })
})

// Attempts and delays are as they were before, whoever goes on.
describeOnStores('attempts over a restart', (kind) => {
  const retry = { maxAttempts: 3, delay: 1_300, backoff: 'fixed', jitter: false } as const

  describe.concurrent.each(['closes', 'dies'] as const)('of a runtime that %s', (how) => {
    test.each(['local', 'task'] as const)('count on (%s)', async (where) => {
      await using space = await openSpace(kind)
      const ran: { attempt: number; at: number; life: string }[] = []
      const flaky = activity<undefined, never>('flaky')
      const route = where === 'task' ? { tag: 'away' } : {}
      const flakyIn = (life: string) =>
        flaky.implement(async (_, ctx) => {
          ran.push({ attempt: ctx.attempt, at: performance.now(), life })
          throw new Error('no')
        })
      const tries = workflow('tries', async (_: undefined, ctx) =>
        ctx.run(flaky, undefined, { retry, ...route }),
      )
      const tags = where === 'task' ? { only: ['away'] } : []
      const cut = freezable(space)
      const [first, second] = [flakyIn('first'), flakyIn('second')]
      const firstWorks = where === 'local' ? [tries, first] : first
      // Past its lease it makes no other attempt, whatever it has heard.
      const firstLife = await open(cut.store, {
        register: firstWorks,
        tags,
        lease: '1s',
        log: space.log,
      })
      const client = where === 'local' ? firstLife : await space.open(tries, QUICK)
      await client.start(tries, undefined, { id: 'i' })
      const started = space.connect().get('i')
      await eventually(async () => {
        if (where === 'local') return (await dataOf(started, 'attempt')).length === 1
        const [task] = await tasksOf(space, 'i')
        return task?.attempts === 1 && !task.isOwned
      })

      await (how === 'closes' ? firstLife.close({ drain: 0 }) : cut.die())
      const secondWorks = where === 'local' ? [tries, second] : second
      await space.open(secondWorks, { tags, ...QUICK })
      const error = await started.result({ timeout: '10s' }).catch((e: unknown) => e)
      cut.thaw()
      await firstLife.close({ drain: 0 })

      expect(error).toMatchObject({ cause: { name: 'ActivityError', attempts: 3 } })
      expect(ran.map(({ attempt, life }) => [attempt, life])).toEqual([
        [1, 'first'],
        [2, 'second'],
        [3, 'second'],
      ])
      expect(ran[1]!.at - ran[0]!.at).toBeGreaterThan(1_200)
      expect(ran[2]!.at - ran[1]!.at).toBeGreaterThan(1_200)
    })
  })

  test('wait as long when nobody who goes on with the instance has the code', async () => {
    await using space = await openSpace(kind)
    const delayMs = 3_000
    const ran: number[] = []
    const flaky = activity<undefined, number>('flaky')
    const code = flaky.implement(async (_, ctx) => {
      ran.push(performance.now())
      if (ctx.attempt === 1) throw new Error('no')
      return ctx.attempt
    })
    const tries = workflow('tries', async (_: undefined, ctx) =>
      ctx.run(flaky, undefined, { retry: { delay: delayMs, jitter: false } }),
    )
    const first = await space.open([tries, code], QUICK)
    const started = await first.start(tries, undefined, { id: 'i' })
    await eventually(async () => (await dataOf(started, 'attempt')).length === 1)

    await first.close({ drain: 0 })
    const owner = await space.open(tries, QUICK)
    await space.open(code, QUICK)

    expect(await owner.get(tries, 'i').result({ timeout: '15s' })).toBe(2)
    expect(ran[1]! - ran[0]!).toBeGreaterThan(delayMs - 100)
  })
})
