// A payment that is retried, unless the card itself is the trouble.

import { activity, ActivityError, failure, workflow } from 'holdfast'
import { type Order, stripe } from './domain.ts'

export const CardDeclined = failure<{ code: string }>('CardDeclined', { retryable: false })

export const charge = activity(
  'charge',
  { retry: { maxAttempts: 5 }, timeout: '20s' },
  (order: Order, ctx) =>
    stripe.charge(order.total, { idempotencyKey: ctx.idempotencyKey, signal: ctx.signal }),
)

export const pay = workflow('pay', async (order: Order, ctx) => {
  try {
    return await ctx.run(charge, order, { retry: { maxAttempts: 8 } })
  } catch (error) {
    // Its class and its details come through the database.
    if (error instanceof CardDeclined) return { declined: error.details.code }
    if (error instanceof ActivityError) ctx.log.warn({ attempts: error.attempts }, 'not paid')
    throw error
  }
})
