import { describe, expect, test } from 'vitest'

import { workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace, STORES } from '../support/engine.ts'

describeOnStores('timers', (kind) => {
  test('a sleep lasts as long as it says, and not much longer', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (ms: number, ctx) => {
      const before = ctx.now().getTime()
      await ctx.sleep(ms)
      return ctx.now().getTime() - before
    })
    const holdfast = await space.open(nap)

    const slept = await holdfast.run(nap, 120)

    expect(slept).toBeGreaterThanOrEqual(120)
    expect(slept).toBeLessThan(1_500)
  })

  test('a sleep of no length, and one until a moment in the past, are over at once', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (_, ctx) => {
      await ctx.sleep(0)
      await ctx.sleepUntil(new Date(0))
      await ctx.sleepUntil(new Date(ctx.now().getTime() - 86_400_000))
      await ctx.sleepUntil(new Date(-1))
      await ctx.sleep('0.4ms')
      return 'awake'
    })
    const holdfast = await space.open(nap)

    expect(await holdfast.run(nap, undefined, { timeout: '5s' })).toBe('awake')
  })

  test('a sleep until a moment ends at that moment', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (when: Date, ctx) => {
      await ctx.sleepUntil(when)
      return ctx.now()
    })
    const holdfast = await space.open(nap)
    const when = new Date(Date.now() + 150)

    const woke = await holdfast.run(nap, when)

    expect(woke.getTime()).toBeGreaterThanOrEqual(when.getTime())
  })

  test('sleeps side by side end in the order of their moments', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (_, ctx) => {
      const order: number[] = []
      await Promise.all(
        [90, 30, 60, 0].map(async (ms) => {
          await ctx.sleep(ms)
          order.push(ms)
        }),
      )
      return order
    })
    const holdfast = await space.open(nap)

    expect(await holdfast.run(nap)).toEqual([0, 30, 60, 90])
  })

  test.each([[-1], [NaN], [Infinity], ['soon'], [1e17]])('a sleep of %j is refused', async (ms) => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (_, ctx) => {
      try {
        await ctx.sleep(ms as number)
        return 'slept'
      } catch (error) {
        return (error as Error).message
      }
    })
    const holdfast = await space.open(nap)

    expect(await holdfast.run(nap, undefined, { timeout: '3s' })).toMatch(/^ctx\.sleep: /)
  })

  test('a sleep until an invalid date is refused', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (_, ctx) => {
      await ctx.sleepUntil(new Date('tomorrow'))
    })
    const holdfast = await space.open(nap)

    await expect(holdfast.run(nap)).rejects.toThrow('ctx.sleepUntil: needs a valid Date')
  })

  test('the losing side of a race does not keep the workflow open', async () => {
    await using space = await openSpace(kind)
    const race = workflow('race', async (_, ctx) =>
      Promise.race([
        ctx.sleep('1h').then(() => 'late'),
        ctx.step('fast', () => 'fast'),
        ctx.step('never', () => new Promise<string>(() => {})),
      ]),
    )
    const holdfast = await space.open(race)

    const handle = await holdfast.start(race)

    expect(await handle.result({ timeout: '5s' })).toBe('fast')
    expect(await handle.info()).toMatchObject({ status: 'completed', waitingFor: [] })
  })
})

// It sleeps longer than an instance stays in memory: on all stores at once.
describe.concurrent.each(STORES)('timers, on %s', (kind) => {
  test('an instance that sleeps for long leaves memory, and wakes when it is due', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async (ms: number, ctx) => {
      const first = await ctx.step('first', () => 1)
      await ctx.sleep(ms)
      return first + 1
    })
    const holdfast = await space.open(nap)

    const handle = await holdfast.start(nap, 5_400)
    await eventually(async () => (await handle.info())!.waitingFor[0]?.startsWith('timer'))

    expect(await handle.result({ timeout: '12s' })).toBe(2)
    const { createdAt, finishedAt } = (await handle.info())!
    expect(finishedAt!.getTime() - createdAt.getTime()).toBeLessThan(7_500)
  })
})
