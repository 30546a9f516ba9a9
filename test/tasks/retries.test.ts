import { describe, expect, test } from 'vitest'

import { activity, failure, open, type Retry, workflow } from '../../src/index.ts'
import {
  describeOnStores,
  describeOnStoresAtOnce,
  eventually,
  openSpace,
} from '../support/engine.ts'
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

  test('a failure that the policy calls final is not retried, not even as a task', async () => {
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

// Attempts and delays are as before, whichever runtime continues.
describeOnStoresAtOnce('attempts over a restart', (kind) => {
  const LEASE_MS = 1_000
  const MAX_ATTEMPTS = 3
  // Long enough for a busy machine to stop the first life before its second attempt.
  const DELAY_MS = 2_500
  const retry = {
    maxAttempts: MAX_ATTEMPTS,
    delay: DELAY_MS,
    backoff: 'fixed',
    jitter: false,
  } as const

  describe.each(['closes', 'dies'] as const)('of a runtime that %s', (how) => {
    test.each(['local', 'task'] as const)('continue their count (%s)', async (where) => {
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
      const firstLife = await open(cut.store, {
        register: firstWorks,
        tags,
        lease: LEASE_MS,
        log: space.log,
      })
      const client = where === 'local' ? firstLife : await space.open(tries, QUICK)
      await client.start(tries, undefined, { id: 'i' })
      const started = space.connect().get('i')
      await eventually(async () => {
        if (where === 'local') return (await dataOf(started, 'attempt')).length >= 1
        const [task] = await tasksOf(space, 'i')
        return task !== undefined && task.attempts >= 1 && !task.isOwned
      })

      await (how === 'closes' ? firstLife.close({ drain: 0 }) : cut.die())
      const endedAt = performance.now()
      const recorded =
        where === 'local'
          ? (await dataOf(started, 'attempt')).length
          : (await tasksOf(space, 'i'))[0]!.attempts
      const secondWorks = where === 'local' ? [tries, second] : second
      await space.open(secondWorks, { tags, ...QUICK })
      const error = await started.result({ timeout: '15s' }).catch((e: unknown) => e)
      cut.thaw()
      await firstLife.close({ drain: 0 })

      expect(error).toMatchObject({ cause: { name: 'ActivityError', attempts: MAX_ATTEMPTS } })
      expect(recorded).toBe(1)
      const inSecond = ran.filter(({ life }) => life === 'second')
      expect(inSecond.map(({ attempt }) => attempt)).toEqual(numbers(2, MAX_ATTEMPTS))
      // What a runtime begins after it was cut off, while its lease is valid, is lost.
      const inFirst = ran.filter(({ life }) => life === 'first')
      const late = inFirst.filter(({ at }) => at - endedAt > (how === 'closes' ? 0 : LEASE_MS))
      expect(late).toEqual([])
      const counted = [inFirst[0]!, ...inSecond]
      expect(counted.map(({ attempt }) => attempt)).toEqual(numbers(1, MAX_ATTEMPTS))
      for (const [i, { at }] of counted.slice(1).entries()) {
        expect(at - counted[i]!.at).toBeGreaterThan(DELAY_MS - 100)
      }
    })
  })

  test('wait as long when no runtime that continues the instance has the code', async () => {
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

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}
