import { failure, workflow } from 'holdfast'
import { transaction } from 'holdfast/sqlite'

export interface Order {
  readonly id: string
  readonly buyer: string
  readonly cents: number
}

const Declined = failure('Declined', { retryable: false })

// What it writes through `tx` and what it returns are committed together.
export const charge = transaction('charge', ({ id, buyer, cents }: Order, { tx }) => {
  tx.run('insert into payments values (?, ?)', id, cents)
  const withdraw = 'update accounts set cents = cents - ? where owner = ? and cents >= ?'
  const { changes } = tx.run(withdraw, cents, buyer, cents)
  if (changes === 0) throw new Declined(`${buyer} has not enough`)
  console.log(`  ${id}: takes ${cents} from ${buyer}`)
  return cents
})

export const fulfil = workflow('fulfil', async (order: Order, ctx) => {
  const paid = await ctx.run(charge, order)
  return `sent for ${paid}`
})
