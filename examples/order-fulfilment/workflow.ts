import { workflow } from 'holdfast'
import { type Activities, CardDeclined, type Order } from './domain.ts'

/** How an order ended. */
export type Outcome =
  | { readonly kind: 'shipped'; readonly receipt: string; readonly tracking: string }
  | { readonly kind: 'declined'; readonly reason: string }

/** One order from the click to the parcel. Every line that is done stays done, whatever is killed. */
export function makeFulfilment(shop: Activities) {
  return workflow('fulfil order', async (order: Order, ctx): Promise<Outcome> => {
    await ctx.run(shop.reserveStock, order)

    let receipt: string
    try {
      receipt = await ctx.run(shop.chargeCard, order)
    } catch (error) {
      if (!(error instanceof CardDeclined)) throw error
      await ctx.run(shop.releaseStock, order)
      await ctx.run(shop.sendMail, { order, text: 'your card was declined' })
      return { kind: 'declined', reason: error.details.reason }
    }

    await ctx.run(shop.packParcel, order)
    await ctx.sleep(order.courierMs)
    const tracking = await ctx.run(shop.shipParcel, order)
    await ctx.run(shop.sendMail, { order, text: `on its way as ${tracking}` })
    return { kind: 'shipped', receipt, tracking }
  })
}
