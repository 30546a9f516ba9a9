// The workflows of the command-line tests, as a project of a user would have them.

import { activity, channel, workflow } from 'holdfast'

const decision = channel<{ approved: boolean }>('decision')

const charge = activity('charge', { retry: { maxAttempts: 1 } }, async (order: Order) => {
  if (order.cents < 0) throw new Error(`card ${order.card ?? 'none'} was declined`)
  return `charged ${order.cents}`
})

export interface Order {
  cents: number
  card?: string
}

export const order = workflow('order', async (input: Order, ctx) => {
  ctx.progress('charging')
  return ctx.run(charge, input)
})

export const approval = workflow('approval', async (_input: unknown, ctx) => {
  const answer = await ctx.receive(decision)
  return answer.approved ? 'approved' : 'rejected'
})

export const family = workflow('family', async (size: number, ctx) =>
  ctx.all(Array.from({ length: size }, (_, i) => ctx.run(order, { cents: i }))),
)

/** Takes long, but stops when it is cancelled. */
export const slow = workflow('slow', async (_input: unknown, ctx) => {
  await ctx.sleep('1h')
  return 'slept'
})
