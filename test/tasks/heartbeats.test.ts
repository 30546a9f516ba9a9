import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'

import { activity, open, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { freezable, QUICK, stopped } from './support.ts'

describeOnStores('heartbeats', (kind) => {
  describe.concurrent.each(['closes', 'dies'] as const)('of a runtime that %s', (how) => {
    test.each(['local', 'task'] as const)('are known to the next attempt (%s)', async (where) => {
      await using space = await openSpace(kind)
      const ran: unknown[] = []
      const counts = activity<undefined, string>('counts')
      const countsIn = (life: string) =>
        counts.implement(async (_, ctx) => {
          ran.push([life, ctx.attempt, ctx.lastHeartbeat])
          if (life === 'second') return 'done'
          for (let i = 1; i <= 3; i++) ctx.heartbeat({ done: i })
          throw await stopped(ctx)
        })
      const long = workflow('long', async (_: undefined, ctx) =>
        ctx.run(counts, undefined, where === 'task' ? { tag: 'away' } : {}),
      )
      const tags = where === 'task' ? { only: ['away'] } : []
      const cut = freezable(space)
      const [first, second] = [countsIn('first'), countsIn('second')]
      const register = where === 'local' ? [long, first] : first
      const firstLife = await open(cut.store, { register, tags, log: space.log, ...QUICK })
      const owner = where === 'local' ? firstLife : await space.open(long, QUICK)
      await owner.start(long, undefined, { id: 'i' })
      await eventually(() => cut.answers('beat') > 0)

      await (how === 'closes' ? firstLife.close({ drain: 0 }) : cut.die())
      const next = await space.open(where === 'local' ? [long, second] : second, { tags, ...QUICK })
      const result = await next.get('i').result({ timeout: '10s' })
      cut.thaw()
      await firstLife.close({ drain: 0 })

      expect(result).toBe('done')
      // The first one is written at once; what comes within a second of it is the latest of it.
      expect(ran).toEqual([
        ['first', 1, undefined],
        // What a close cuts off does not count.
        ['second', how === 'closes' ? 1 : 2, { done: 3 }],
      ])
    })
  })
})

describe.concurrent('heartbeats that are', () => {
  test('sent more often than written keep the task from others', async () => {
    await using space = await openSpace('memory')
    const ran: number[] = []
    const lively = activity(
      'lively',
      { heartbeatTimeout: 400, retry: { maxAttempts: 3, delay: 1 } },
      async (_: undefined, ctx) => {
        ran.push(ctx.attempt)
        for (let i = 0; i < 60; i++) {
          ctx.heartbeat(i)
          await passTime(25)
        }
        return ctx.signal.aborted
      },
    )
    const lives = workflow('lives', async (_: undefined, ctx) => ctx.run(lively))
    const runtime = await space.open([lives, lively], QUICK)
    await space.open([lives, lively], QUICK)

    expect(await runtime.run(lives, undefined, { timeout: '10s' })).toBe(false)
    expect(ran).toEqual([1])
  })

  test('not written when their activity is cancelled do not bring it back', async () => {
    await using space = await openSpace('memory')
    const begun: number[] = []
    const ready = deferred()
    const beating = activity('beating', async (_: undefined, ctx) => {
      begun.push(ctx.attempt)
      // The first is written at once, and a heartbeat now has to wait for the next write.
      ctx.heartbeat(1)
      ready.resolve()
      throw await stopped(ctx)
    })
    const races = workflow('races', async (_: undefined, ctx) => {
      await ctx.race({ work: ctx.run(beating), other: ctx.run(beating), time: ctx.sleep(200) })
      await ctx.sleep(1_500)
      return 'over'
    })
    const runtime = await space.open(races, QUICK)
    const started = await runtime.start(races, undefined, { id: 'i' })
    await ready.promise

    expect(await started.result({ timeout: '10s' })).toBe('over')
    expect(begun).toEqual([1, 1])
  })
})

describe('heartbeats', () => {
  test('of an attempt that fails are known to the next one, the latest of them', async () => {
    await using space = await openSpace('memory')
    const found: unknown[] = []
    const counts = activity(
      'counts',
      { retry: { delay: 1 } },
      async (_: undefined, { attempt, lastHeartbeat, heartbeat }) => {
        found.push(lastHeartbeat)
        if (attempt === 2) return
        for (let i = 1; i <= 10; i++) heartbeat(i)
        await passTime(20)
        for (let i = 11; i <= 20; i++) heartbeat(i)
        throw new Error('again')
      },
    )
    const long = workflow('long', async (_: undefined, ctx) => ctx.run(counts))
    const runtime = await space.open(long)

    await runtime.run(long, undefined, { timeout: '10s' })

    expect(found).toEqual([undefined, 20])
  })

  test('delay no activity that is done', async () => {
    await using space = await openSpace('memory')
    const tells = activity('tells', async (n: number, ctx) => ctx.heartbeat(n))
    const many = workflow('many', async (_: undefined, ctx) => {
      for (let i = 0; i < 10; i++) await ctx.run(tells, i)
    })
    const runtime = await space.open(many)
    const begunMs = performance.now()

    await runtime.run(many)

    // One that waited for the pace of heartbeats would take a second each.
    expect(performance.now() - begunMs).toBeLessThan(5_000)
  })
})
