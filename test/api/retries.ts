// `api/examples/2-retries.ts` of the design, as a program that compiles against the package.

import { activity, ActivityError, failure, workflow } from 'holdfast'

export interface Order {
  id: string
  email: string
  total: number
  items: readonly string[]
}

declare const stripe: {
  charge(
    total: number,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<{ id: string; amount: number }>
}

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
    if (error instanceof CardDeclined) return { declined: error.details.code } // typed, also after a crash
    if (error instanceof ActivityError) ctx.log.warn({ attempts: error.attempts }, 'gave up')
    throw error
  }
})
