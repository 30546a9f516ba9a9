import { expect, test } from 'vitest'

import { activity, channel, workflow } from '../../src/index.ts'
import { describeInPlaces, untilItWaitsFor } from '../support/contract.ts'
import { deferred } from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'

// Difference: messages are never dropped between executions; they wait for a receive.

const [go, other] = [channel<string>('go'), channel<string>('other')]
const double = activity('double', (n: number) => n * 2)

describeInPlaces('continue as new', (place) => {
  test('an instance has as many executions as it needs [continue_as_new_multiexec]', async () => {
    const counts = workflow('can-counts', async (n: number, ctx): Promise<number> =>
      n < 2 ? ctx.continueAsNew(n + 1) : n,
    )
    const runtime = await place.open(counts)
    const instance = await runtime.start(counts, 0)

    expect(await instance.result()).toBe(2)
    const ends = await Promise.all(
      [1, 2, 3].map(async (execution) => (await eventsOf(instance, { execution })).at(-1)?.data),
    )
    expect(ends).toEqual([
      { status: 'continued' },
      { status: 'continued' },
      { status: 'completed' },
    ])
  })

  test('a message reaches the latest execution [continue_as_new_event_routes_to_latest]', async () => {
    const rolls = workflow('can-latest', async (n: number, ctx): Promise<string> => {
      if (n === 0) return ctx.continueAsNew(1)
      return `${n}:${await ctx.receive(go)}`
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)

    await instance.send(go, 'hi')

    expect(await instance.result()).toBe('1:hi')
  })

  test('a message that was not received is there in the next execution [continue_as_new_event_drop_then_process]', async () => {
    const rolls = workflow('can-early', async (n: number, ctx): Promise<string> => {
      if (n > 0) return ctx.receive(go)
      await ctx.receive(other)
      return ctx.continueAsNew(1)
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await untilItWaitsFor(instance, 'channel "other"')

    await instance.send(go, 'early')
    await instance.send(other, 'roll')

    expect(await instance.result()).toBe('early')
  })

  test('a message sent early and again later comes twice [event_drop_then_retry_after_subscribe]', async () => {
    const waits = workflow('can-retry', async (_: undefined, ctx) => {
      await ctx.receive(other)
      return [await ctx.receive(go), await ctx.receive(go)]
    })
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)
    await instance.send(go, 'early')
    await instance.send(other, 'now')
    await untilItWaitsFor(instance, 'channel "go"')

    await instance.send(go, 'again')

    expect(await instance.result()).toEqual(['early', 'again'])
  })

  test.each([
    ['of an earlier execution [old_execution_completions_are_ignored]'],
    ['of a dropped activity [activity_completion_after_continue_as_new_is_discarded]'],
  ])('a result %s does not reach the next execution', async (title) => {
    const begun = deferred()
    const ends = deferred<string>()
    const held = activity('can-held', async () => {
      begun.resolve()
      return ends.promise
    })
    const name = `can-old-${title.length}`
    const rolls = workflow(name, async (n: number, ctx): Promise<string> => {
      if (n === 0) {
        void ctx.run(held).catch(() => {})
        await ctx.receive(go)
        return ctx.continueAsNew(1)
      }
      // The command has the number that the activity had.
      return ctx.receive(other)
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await begun.promise
    await instance.send(go, 'roll')
    await untilItWaitsFor(instance, 'channel "other"')

    ends.resolve('stale')
    await instance.send(other, 'fresh')

    expect(await instance.result()).toBe('fresh')
    const types = (await eventsOf(instance)).map(({ type }) => type)
    expect(types).toEqual(['started', 'receive', 'received', 'ended'])
  })

  test('it may continue as new at once [continue_as_new_without_await]', async () => {
    const rolls = workflow('can-at-once', async (n: number, ctx): Promise<number> => {
      if (n === 0) void ctx.continueAsNew(1)
      return n
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)

    expect(await instance.result()).toBe(1)
    expect((await instance.info())?.execution).toBe(2)
  })
})

describeInPlaces('chains of executions', (place) => {
  test('five executions follow each other [continue_as_new_chain_5_iterations]', async () => {
    const chain = workflow('chain', async (n: number, ctx): Promise<number> =>
      n < 5 ? ctx.continueAsNew(n + 1) : n,
    )
    const runtime = await place.open(chain)
    const instance = await runtime.start(chain, 1)

    expect(await instance.result()).toBe(5)
    expect((await instance.info())?.execution).toBe(5)
  })

  test('each has activities and a timer [continue_as_new_chain_with_activities]', async () => {
    const chain = workflow(
      'chain-works',
      async ({ n, sum }: { n: number; sum: number }, ctx): Promise<number> => {
        const doubled = await ctx.run(double, n)
        await ctx.sleep(1)
        return n < 4 ? ctx.continueAsNew({ n: n + 1, sum: sum + doubled }) : sum + doubled
      },
    )
    const runtime = await place.open(chain)

    expect(await runtime.run(chain, { n: 1, sum: 0 })).toBe(20)
  })

  test('chains run side by side [concurrent_continue_as_new_chains]', async () => {
    const chain = workflow(
      'chain-many',
      async ({ id, n }: { id: number; n: number }, ctx): Promise<string> => {
        await ctx.run(double, n)
        return n < 10 ? ctx.continueAsNew({ id, n: n + 1 }) : `${id}:${n}`
      },
    )
    const runtime = await place.open(chain)

    const results = await Promise.all([1, 2, 3].map((id) => runtime.run(chain, { id, n: 1 })))

    expect(results).toEqual(['1:10', '2:10', '3:10'])
  })

  test('an actor checks, waits and begins again, until it is asked to end [instance_actor_pattern_stress_test]', async () => {
    const actor = workflow('actor', async (beats: number, ctx): Promise<number> => {
      await ctx.all([ctx.run(double, beats), ctx.run(double, beats + 1)])
      const message = await ctx.receive(go, { timeout: 1 })
      return message === undefined ? ctx.continueAsNew(beats + 1) : beats
    })
    const runtime = await place.open(actor)
    const instances = await Promise.all([1, 2, 3].map(() => runtime.start(actor, 0)))
    for (const instance of instances) {
      for await (const { execution } of instance.watch()) if (execution >= 5) break
    }

    await Promise.all(instances.map((instance) => instance.send(go, 'end')))

    for (const instance of instances) {
      const beats = await instance.result()
      expect((await instance.info())?.execution).toBe(beats + 1)
    }
  })

  test('a timer after earlier ones fires when it should [timer_fires_at_correct_time_regression]', async () => {
    const sleeps = workflow('chain-sleeps', async (n: number, ctx): Promise<number> => {
      await ctx.sleep(5)
      const before = ctx.now().getTime()
      await ctx.sleep(40)
      return n === 0 ? ctx.continueAsNew(1) : ctx.now().getTime() - before
    })
    const runtime = await place.open(sleeps)

    const slept = await runtime.run(sleeps, 0)

    expect(slept).toBeGreaterThanOrEqual(40)
    expect(slept).toBeLessThan(4_000)
  })
})
