import { activity, channel, failure, workflow } from 'holdfast'

export const SoldOut = failure('SoldOut', { retryable: false })

export const book = activity('book', async ({ what, to }: { what: string; to: string }, ctx) => {
  if (what === 'car' && to === 'Venice') throw new SoldOut('no cars in Venice')
  console.log(`  ${ctx.info.instanceId}: booked a ${what}`)
  return what
})

export const giveBack = activity('give back', async (what: string, ctx) => {
  console.log(`  ${ctx.info.instanceId}: gave back the ${what}`)
})

export const payments = channel<{ cents: number }>('payments')

export const travel = workflow('travel', async (to: string, ctx) =>
  ctx.saga(async (undo) => {
    for (const what of ['flight', 'room', 'car']) {
      const booked = await ctx.run(book, { what, to })
      undo(() => ctx.run(giveBack, booked))
    }
    ctx.progress('waits for the money')
    const { cents } = await ctx.receive(payments)
    return `goes to ${to} for ${cents} cents`
  }),
)
