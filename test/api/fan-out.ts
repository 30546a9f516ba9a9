// Many pieces of work at once, for as long as there is time.

import { activity, workflow } from 'holdfast'
import { type Order, warehouse } from './domain.ts'

const pick = activity('pick', { timeout: '5m' }, (sku: string) => warehouse.pick(sku))

export const pickAll = workflow('pick-all', async (order: Order, ctx) => {
  const first = await ctx.race({
    picked: (own) => own.map(order.items, (sku, one) => one.run(pick, sku), { concurrency: 50 }),
    late: ctx.sleep('1h'),
  })
  if (first.key === 'late') return 'late'
  return first.value.reduce((sum, count) => sum + count, 0)
})

export const summary = workflow('summary', async (order: Order, ctx) => {
  const { first, rest } = await ctx.all({
    first: ctx.run(pick, order.items[0] ?? 'none'),
    rest: async (own) => {
      await own.sleep('1s')
      return own.map(order.items.slice(1), async (sku, _one, index) => `${index}: ${sku}`)
    },
  })
  return [`0: ${first}`, ...rest]
})
