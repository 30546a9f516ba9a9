// The engine under the faults of `simulate`: everything that workflows do, in two and three processes.

import { expect, test } from 'vitest'
import { activity, channel, request, stateKey, workflow } from '../../src/index.ts'
import { transaction } from '../../src/sqlite/index.ts'
import { simulate, stub } from '../../src/testing/index.ts'

const RUNS = Number(process.env['HOLDFAST_ROUNDS'] ?? 20)

const pack = activity<string, string>('pack')
const refund = activity<string, void>('refund')
const book = transaction('book', (cents: number, { tx }) => {
  tx.run('insert into ledger values (?)', cents)
  return cents
})
const paid = channel<number>('paid')
const price = request<string, number>('price')
const status = stateKey<string>('status')

const parcel = workflow('parcel', async (item: string, ctx) => {
  await ctx.sleep('1h')
  return ctx.run(pack, item, { timeout: '30s', retry: { maxAttempts: 20 } })
})

const shop = workflow('shop', async (items: readonly string[], ctx) => {
  ctx.state.set(status, 'asked')
  const asked = await ctx.receive(price)
  asked.reply(items.length * 100)
  const cents = await ctx.receive(paid)
  await ctx.run(book, cents)
  ctx.state.set(status, 'paid')
  const parcels = await ctx.map(items, (item, scope) => scope.run(parcel, item))
  const undone = await ctx
    .saga(async (undo) => {
      undo(() => ctx.run(refund, 'gift'))
      await ctx.step('gift', () => {
        throw new Error('no gift')
      })
    })
    .catch(() => 'no gift')
  ctx.state.set(status, 'shipped')
  return { parcels, undone }
})

const countdown = workflow('countdown', async (left: number, ctx) => {
  await ctx.sleep('1d')
  return left === 0 ? 'lift-off' : ctx.continueAsNew(left - 1)
})

test.each([2, 3])(
  'everything is done once, with %i runtimes',
  async (runtimes) => {
    let packed = new Map<string, string>()
    let refunds = new Set<string>()

    const report = await simulate({
      register: [shop, parcel, countdown],
      runtimes,
      runs: RUNS,
      stubs: [
        stub(pack, (item, { idempotencyKey }) => {
          packed.set(idempotencyKey, item)
          return `parcel of ${item}`
        }),
        stub(refund, (_, { idempotencyKey }) => void refunds.add(idempotencyKey)),
      ],
      scenario: async (client) => {
        packed = new Map()
        refunds = new Set()
        client.database.exec('create table ledger (cents integer)')
        const [order, clock] = await Promise.all([
          client.start(shop, ['tea', 'cup'], { id: 'order-1' }),
          client.start(countdown, 3, { id: 'clock' }),
        ])
        const cents = await order.request(price, 'all', { dedupeKey: 'q1' })
        await order.send(paid, cents, { dedupeKey: 'p1' })
        expect(await order.result()).toEqual({
          parcels: ['parcel of tea', 'parcel of cup'],
          undone: 'no gift',
        })
        expect(await clock.result()).toBe('lift-off')
      },
      check: async (client) => {
        expect([...packed.values()].toSorted()).toEqual(['cup', 'tea'])
        expect(refunds.size).toBe(1)
        expect(client.database.prepare('select cents from ledger').all()).toEqual([{ cents: 200 }])
        expect(await client.get('order-1').readState(status)).toBe('shipped')
      },
    })

    expect(report.faults).toBeGreaterThan(RUNS)
  },
  120_000,
)
