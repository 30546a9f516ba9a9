// A journey of three bookings. When one of them fails, or the traveller stays at home, what was
// booked is given back, the last first. On a file, stop it half-way and run it again: it carries on,
// also in the middle of giving back.
//
//   npm run build && npx tsx examples/05-saga/main.ts [store URL]

import { activity, CancelledError, channel, failure, open, workflow } from 'holdfast'

const SoldOut = failure('SoldOut', { retryable: false })

const book = activity('book', async ({ what, to }: { what: string; to: string }, ctx) => {
  if (what === 'car' && to === 'Venice') throw new SoldOut('no cars in Venice')
  console.log(`  ${ctx.info.instanceId}: booked a ${what}`)
  return what
})

const giveBack = activity('give back', async (what: string, ctx) => {
  console.log(`  ${ctx.info.instanceId}: gave back the ${what}`)
})

const payments = channel<{ cents: number }>('payments')

const travel = workflow('travel', async (to: string, ctx) =>
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

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: travel })

// Ada's journey fails by itself.
await holdfast.start(travel, 'Venice', { id: 'ada' })
await tell('ada')

// Ben's is cancelled from outside, once all is booked.
const ben = await holdfast.start(travel, 'Rome', { id: 'ben' })
for await (const { progress } of ben.watch()) {
  if (progress === 'waits for the money') break
}
await ben.cancel('he stays at home')
await tell('ben')

// Kim pays.
const kim = await holdfast.start(travel, 'Oslo', { id: 'kim' })
if ((await kim.info())?.status === 'running') {
  await kim.send(payments, { cents: 40_000 }, { dedupeKey: 'transfer-1' })
}
await tell('kim')

/** Waits for the end of a journey, whichever it is. */
async function tell(id: string): Promise<void> {
  try {
    console.log(`${id}: ${await holdfast.get(travel, id).result()}`)
  } catch (error) {
    if (error instanceof SoldOut) console.log(`${id}: failed, ${error.message}`)
    else if (error instanceof CancelledError) console.log(`${id}: cancelled, ${error.reason}`)
    else throw error
  }
}
