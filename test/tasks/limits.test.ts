import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'

import { activity, workflow } from '../../src/index.ts'
import { describeOnStores, openSpace } from '../support/engine.ts'
import { QUICK } from './support.ts'

describeOnStores('a limit', (kind) => {
  test('on the rate holds over two runtimes', async () => {
    await using space = await openSpace(kind)
    const begun: number[] = []
    const calls = activity('calls', { limit: { rate: { count: 4, per: 800 } } }, async () => {
      begun.push(performance.now())
    })
    const many = workflow('many', async (n: number, ctx) => {
      await ctx.map(Array.from({ length: n }), (_, inner) => inner.run(calls))
    })
    const one = await space.open([many, calls], QUICK)
    const two = await space.open([many, calls], QUICK)

    await Promise.all([one.run(many, 6, { timeout: '10s' }), two.run(many, 6, { timeout: '10s' })])

    // Four at once, and then one every 200 ms. It is claimed in time and begins a little later, so that
    // the whole may seem a little shorter.
    expect(begun).toHaveLength(12)
    expect(Math.max(...begun) - Math.min(...begun)).toBeGreaterThan(1_200)
  })
})

describe.concurrent('a limit', () => {
  test('with keys gives each its own, and one that is used up delays no other', async () => {
    await using space = await openSpace('memory')
    const now = new Map<string, number>()
    const most = new Map<string, number>()
    const order: string[] = []
    const works = activity(
      'works',
      { limit: { concurrency: 1, key: (customer) => customer } },
      async (customer: string) => {
        now.set(customer, (now.get(customer) ?? 0) + 1)
        most.set(customer, Math.max(most.get(customer) ?? 0, now.get(customer)!))
        await passTime(customer === 'slow' ? 400 : 5)
        now.set(customer, now.get(customer)! - 1)
        order.push(customer)
      },
    )
    const customers = ['slow', 'slow', 'slow', 'quick', 'other']
    const serves = workflow('serves', async (_: undefined, ctx) => {
      await ctx.map(customers, (customer, inner) => inner.run(works, customer))
    })
    const runtime = await space.open([serves, works], QUICK)
    await space.open([serves, works], QUICK)

    await runtime.run(serves, undefined, { timeout: '10s' })

    expect(Object.fromEntries(most)).toEqual({ slow: 1, quick: 1, other: 1 })
    // Those behind the slow ones did not wait for the last of them.
    expect(order.at(-1)).toBe('slow')
    expect(order.toSorted()).toEqual(customers.toSorted())
  })
})

test('a key that is not a string fails the calling workflow with an error that says so', async () => {
  await using space = await openSpace('memory')
  const odd = activity('odd', { limit: { concurrency: 1, key: () => 7 as never } }, async () => 1)
  const asks = workflow('asks', async (_: undefined, ctx) => ctx.run(odd))
  const runtime = await space.open(asks)

  await expect(runtime.run(asks)).rejects.toThrow(
    'activity "odd": limit.key must return text of at most 500 characters, without control ' +
      'characters and lone surrogates, got 7',
  )
})
