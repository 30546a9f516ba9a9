import { expect, test } from 'vitest'

import { activity, channel, type Schema, workflow } from '../../src/index.ts'
import { describeInPlaces, untilItWaitsFor } from '../support/contract.ts'
import { eventsOf, typesOf } from '../support/histories.ts'

// Channels cover what the contract calls event queues and what it calls external events. One
// difference: what is sent before the start is kept, too.

const [jobs, other, third] = [
  channel<string>('jobs'),
  channel<string>('other'),
  channel<string>('third'),
]
const upper = activity('upper', (text: string) => text.toUpperCase())
const takes = (name: string, count: number) =>
  workflow(name, async (_: undefined, ctx) => {
    const got: string[] = []
    for (let i = 0; i < count; i++) got.push(await ctx.receive(jobs))
    return got
  })

describeInPlaces('channels', (place) => {
  test('a message is delivered [persistent_event_basic_delivery]', async () => {
    const one = takes('c-one', 1)
    const runtime = await place.open(one)
    const instance = await runtime.start(one)
    await untilItWaitsFor(instance, 'channel "jobs"')

    await instance.send(jobs, 'a')

    expect(await instance.result()).toEqual(['a'])
  })

  test('one that comes before a receive is kept [persistent_event_arrives_before_subscription]', async () => {
    const late = workflow('c-late', async (_: undefined, ctx) => {
      await ctx.receive(other)
      return ctx.receive(jobs)
    })
    const runtime = await place.open(late)
    const instance = await runtime.start(late)
    await instance.send(jobs, 'early')
    await untilItWaitsFor(instance, 'channel "other"')

    await instance.send(other, 'now')

    expect(await instance.result()).toBe('early')
  })

  test('messages keep their order [persistent_event_fifo_ordering]', async () => {
    const five = takes('c-five', 5)
    const runtime = await place.open(five)
    const instance = await runtime.start(five)

    for (const text of ['1', '2', '3', '4', '5']) await instance.send(jobs, text)

    expect(await instance.result()).toEqual(['1', '2', '3', '4', '5'])
  })

  test.each([
    ['sent together [persistent_event_survives_select_cancellation_same_batch]', true],
    ['sent later [persistent_event_survives_select_cancellation_late_extra_discarded]', false],
  ])('messages after a receive that lost a race are not lost, %s', async (_title, together) => {
    const loses = workflow(`c-loses-${together}`, async (_: undefined, ctx) => {
      const { key } = await ctx.race({ jobs: ctx.receive(jobs), other: ctx.receive(other) })
      return [key, await ctx.receive(jobs), await ctx.receive(jobs)]
    })
    const runtime = await place.open(loses)
    const instance = await runtime.start(loses)
    await instance.send(other, 'wins')
    if (!together) await untilItWaitsFor(instance, 'channel "jobs"')

    await Promise.all([
      instance.send(jobs, 'x'),
      instance.send(jobs, 'x'),
      instance.send(jobs, 'x'),
    ])

    const [, ...got] = await instance.result()
    expect(got).toEqual(['x', 'x'])
  })

  test('two channels are independent [persistent_and_positional_are_independent]', async () => {
    const both = workflow('c-both', async (_: undefined, ctx) => [
      await ctx.receive(other),
      await ctx.receive(jobs),
    ])
    const runtime = await place.open(both)
    const instance = await runtime.start(both)

    await instance.send(jobs, 'job')
    await instance.send(other, 'other')

    expect(await instance.result()).toEqual(['other', 'job'])
  })

  test('a cancelled receive is recorded [persistent_cancelled_subscription_emits_breadcrumb]', async () => {
    const drops = workflow('c-drops', async (_: undefined, ctx) => {
      await ctx.race({ jobs: ctx.receive(jobs), time: ctx.sleep(1) })
    })
    const runtime = await place.open(drops)
    const instance = await runtime.start(drops)
    await instance.result()

    const dropped = (await eventsOf(instance)).filter(({ type }) => type === 'dropped')
    expect(dropped.map(({ data }) => data)).toEqual([{ command: 1 }])
  })

  test('a receive that is open at the end is cancelled [persistent_outstanding_subscription_cancelled_on_completion]', async () => {
    const leaves = workflow('c-leaves', async (_: undefined, ctx) => {
      void ctx.receive(jobs)
      return 'done'
    })
    const runtime = await place.open(leaves)
    const instance = await runtime.start(leaves)

    expect(await instance.result()).toBe('done')
    expect(await typesOf(instance)).toEqual(['started', 'receive', 'dropped', 'ended'])
  })

  test('cancelled receives take no message [persistent_multiple_cancelled_subscriptions_only_active_receives]', async () => {
    const many = workflow('c-many', async (_: undefined, ctx) => {
      for (let i = 0; i < 3; i++) await ctx.race({ jobs: ctx.receive(jobs), time: ctx.sleep(1) })
      await ctx.receive(other)
      return ctx.receive(jobs)
    })
    const runtime = await place.open(many)
    const instance = await runtime.start(many)
    await untilItWaitsFor(instance, 'channel "other"')

    await instance.send(jobs, 'for the last')
    await instance.send(other, 'go')

    expect(await instance.result()).toBe('for the last')
  })

  test('channels, activities and executions together, over a restart [complex_multi_turn_persistent_and_positional_with_activities]', async () => {
    const mixes = workflow(
      'c-mixes',
      async (got: readonly string[], ctx): Promise<readonly string[]> => {
        const job = await ctx.run(upper, await ctx.receive(jobs))
        const all = [...got, job, await ctx.receive(other)]
        return all.length < 4 ? ctx.continueAsNew(all) : all
      },
    )
    const first = await place.open(mixes)
    const instance = await first.start(mixes, [], { id: 'c-mixes' })
    await instance.send(jobs, 'a')
    await instance.send(jobs, 'b')
    await untilItWaitsFor(instance, 'channel "other"')
    await first.close({ drain: 0 })
    const second = await place.open(mixes)
    await second.get('c-mixes').send(other, 'x')
    await second.get('c-mixes').send(other, 'y')

    expect(await second.get('c-mixes').result()).toEqual(['A', 'x', 'B', 'y'])
  })

  test('a race of two channels, then both [select_then_join_persistent_and_positional]', async () => {
    const joins = workflow('c-joins', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ jobs: ctx.receive(jobs), other: ctx.receive(other) })
      return [key, ...(await ctx.all([ctx.receive(jobs), ctx.receive(other)]))]
    })
    const runtime = await place.open(joins)
    const instance = await runtime.start(joins)
    await instance.send(other, 'o1')
    await untilItWaitsFor(instance, 'channel "jobs"')

    await instance.send(other, 'o2')
    await instance.send(jobs, 'j1')

    expect(await instance.result()).toEqual(['other', 'j1', 'o2'])
  })

  test.each([
    ['one by one [raise_event_typed_round_trip]', 1],
    ['in a row [enqueue_event_typed_round_trip]', 2],
  ])('messages with a type come as they were sent, %s', async (_title, count) => {
    const orders = channel<{ n: number; at: Date; tags: Set<string> }>('orders')
    const typed = workflow(`c-typed-${count}`, async (_: undefined, ctx) => {
      const got = []
      for (let i = 0; i < count; i++) got.push(await ctx.receive(orders))
      return got
    })
    const sent = Array.from({ length: count }, (_item, n) => ({
      n,
      at: new Date(n),
      tags: new Set(['t']),
    }))
    const runtime = await place.open(typed)
    const instance = await runtime.start(typed)

    for (const order of sent) await instance.send(orders, order)

    expect(await instance.result()).toEqual(sent)
  })

  test('each channel has an order of its own [multi_queue_isolation_and_independent_fifo]', async () => {
    const apart = workflow('c-apart', async (_: undefined, ctx) => {
      const got: string[] = []
      for (const from of [third, jobs, other, jobs, third]) got.push(await ctx.receive(from))
      return got
    })
    const runtime = await place.open(apart)
    const instance = await runtime.start(apart)

    for (const to of [jobs, other, third]) await instance.send(to, `${to.name}-1`)
    for (const to of [jobs, other, third]) await instance.send(to, `${to.name}-2`)

    expect(await instance.result()).toEqual(['third-1', 'jobs-1', 'other-1', 'jobs-2', 'third-2'])
  })

  test('messages may come between the turns [multi_queue_staggered_delivery]', async () => {
    const stages = workflow('c-stages', async (_: undefined, ctx) => {
      const got: string[] = []
      for (const from of [jobs, other, third])
        got.push(await ctx.run(upper, await ctx.receive(from)))
      return got
    })
    const runtime = await place.open(stages)
    const instance = await runtime.start(stages)

    for (const to of [jobs, other, third]) {
      await untilItWaitsFor(instance, `channel "${to.name}"`)
      await instance.send(to, to.name)
    }

    expect(await instance.result()).toEqual(['JOBS', 'OTHER', 'THIRD'])
  })

  test('messages that are sent before the start wait for it [events_enqueued_before_start_orchestration_are_dropped]', async () => {
    const one = takes('c-before', 1)
    const runtime = await place.open(one)
    await runtime.get('c-before').send(jobs, 'early')

    const instance = await runtime.start(one, undefined, { id: 'c-before' })

    expect(await instance.result()).toEqual(['early'])
  })

  test('a message that does not match its schema is rejected at the sender [typed_event_decode_error_fs]', async () => {
    const schema: Schema<number> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          typeof value === 'number' ? { value } : { issues: [{ message: 'not a number' }] },
      },
    }
    const numbers = channel<number>('numbers', { schema })
    const one = workflow('c-schema', async (_: undefined, ctx) => ctx.receive(numbers))
    const runtime = await place.open(one)
    const instance = await runtime.start(one)

    await expect(instance.send(numbers, 'text' as unknown as number)).rejects.toThrow(
      'not a number',
    )
    await instance.send(numbers, 7)

    expect(await instance.result()).toBe(7)
  })
})
