// Three services and no common transaction: what was done is undone when the rest does not follow.

import { activity, workflow } from 'holdfast'
import { type Order, stripe, warehouse } from './domain.ts'
import { charge } from './retries.ts'

const reserve = activity('reserve', (order: Order) => warehouse.reserve(order.items))
const release = activity('release', (id: string) => warehouse.release(id))
const refund = activity('refund', (id: string) => stripe.refund(id))

// Another service runs it; here it is a name and two types.
const ship = workflow<Order, { tracking: string }>('ship')

export const checkout = workflow('checkout', async (order: Order, ctx) =>
  ctx.saga(async (undo) => {
    const reservation = await ctx.run(reserve, order)
    undo(() => ctx.run(release, reservation))
    const receipt = await ctx.run(charge, order)
    undo(() => ctx.run(refund, receipt.id))
    return ctx.run(ship, order, { id: `ship-${order.id}`, timeout: '2d' })
  }),
)

/** The same without a saga: clean-up that no cancellation can stop. */
export const reserveOnly = workflow('reserve-only', async (order: Order, ctx) => {
  const reservation = await ctx.run(reserve, order)
  const shipping = ctx.run(ship, order, { onParentClose: 'abandon' })
  try {
    return await ctx.scope(async () => shipping, { timeout: '1d' })
  } catch (error) {
    shipping.cancel('no one waits for it')
    await ctx.uncancellable((calm) => calm.run(release, reservation))
    throw error
  }
})
