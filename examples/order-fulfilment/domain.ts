// The shop: its orders, and what is done for one. Each activity pretends to call another company and
// takes its time; some calls go wrong, always the same ones.

import { setTimeout as passTime } from 'node:timers/promises'
import { activity, type ActivityContext, failure } from 'holdfast'
import type { Ledger } from './ledger.ts'

/** What a customer ordered. */
export interface Order {
  readonly id: string
  readonly customer: string
  readonly item: string
  readonly cents: number
  /** How long the courier takes to come, in milliseconds. */
  readonly courierMs: number
}

/** The card company says no. Asking again would not help. */
export const CardDeclined = failure<{ reason: string }>('CardDeclined', { retryable: false })

/** A dozen orders. */
export const ORDERS: readonly Order[] = [
  ['Ada', 'tea', 1250],
  ['Ben', 'kettle', 4900],
  ['Cleo', 'cups', 2400],
  ['Dan', 'honey', 890],
  ['Eva', 'biscuits', 540],
  ['Finn', 'teapot', 6900],
  ['Gia', 'tray', 3100],
  ['Hal', 'sugar', 320],
  ['Ida', 'spoons', 1800],
  ['Jon', 'samovar', 24900],
  ['Kim', 'lemons', 450],
  ['Lea', 'strainer', 1100],
].map(([customer, item, cents], index) => ({
  id: `order-${String(index + 1).padStart(2, '0')}`,
  customer: String(customer),
  item: String(item),
  cents: Number(cents),
  courierMs: 1_500 + ((index * 700) % 2_000),
}))

const DECLINED = 'order-10'
const FLAKY: Readonly<Record<string, readonly string[]>> = {
  'charge card': ['order-03', 'order-08'],
  ship: ['order-05', 'order-11'],
  'send mail': ['order-02'],
}
// Short, because someone is watching.
const RETRY = { maxAttempts: 5, delay: '400ms' } as const

/** The activities, writing what they do to a ledger. */
export function makeActivities(ledger: Ledger) {
  /** Takes `ms`, fails the first time where it is meant to, and notes all of it. */
  async function perform<T>(
    order: Order,
    ctx: ActivityContext,
    ms: number,
    effect: () => T,
  ): Promise<T> {
    const { activity: name } = ctx.info
    const about = {
      activity: name,
      order: order.id,
      attempt: ctx.attempt,
      key: ctx.idempotencyKey,
    }
    ledger.write({ what: 'begun', ...about })
    await passTime(ms)
    try {
      if (ctx.attempt === 1 && FLAKY[name]?.includes(order.id)) throw new Error('connection reset')
      const result = effect()
      ledger.write({ what: 'done', ...about })
      return result
    } catch (error) {
      ledger.write({ what: 'failed', ...about, note: (error as Error).message })
      throw error
    }
  }

  return {
    reserveStock: activity('reserve stock', async (order: Order, ctx) =>
      perform(order, ctx, 300, () => `shelf ${order.item.length}`),
    ),

    // A process that is killed after the card was charged and before that was recorded will ask
    // again. The key is the same then, and the card company answers with the first receipt.
    chargeCard: activity('charge card', { retry: RETRY }, async (order: Order, ctx) =>
      perform(order, ctx, 500, () => {
        if (order.id === DECLINED) {
          throw new CardDeclined('the card was declined', { reason: 'over the limit' })
        }
        const { idempotencyKey: key } = ctx
        const earlier = ledger.entries.find(
          (entry) => entry.what === 'charged' && entry.key === key,
        )
        if (earlier?.what === 'charged') return earlier.receipt
        const receipt = `receipt-${key}`
        ledger.write({ what: 'charged', order: order.id, key, cents: order.cents, receipt })
        return receipt
      }),
    ),

    packParcel: activity('pack', async (order: Order, ctx) =>
      perform(order, ctx, 600, () => `parcel-${order.id}`),
    ),

    shipParcel: activity('ship', { retry: RETRY }, async (order: Order, ctx) =>
      perform(order, ctx, 400, () => `track-${order.id}`),
    ),

    releaseStock: activity('release stock', async (order: Order, ctx) =>
      perform(order, ctx, 300, () => undefined),
    ),

    sendMail: activity('send mail', { retry: RETRY }, async (mail: Mail, ctx) =>
      perform(mail.order, ctx, 300, () => undefined),
    ),
  }
}

/** A message to the customer. */
export interface Mail {
  readonly order: Order
  readonly text: string
}

/** What the workflow can have done. */
export type Activities = ReturnType<typeof makeActivities>
