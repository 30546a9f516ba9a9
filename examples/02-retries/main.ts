// Calls that go wrong: some are worth another try, some are not, some never work. On a file, stop it
// half-way and run it again: what is paid stays paid, and attempts are counted on.
//
//   npm run build && npx tsx examples/02-retries/main.ts [store URL]

import { activity, ActivityError, failure, open, workflow } from 'holdfast'

interface Payment {
  readonly id: string
  readonly card: 'sound' | 'slow bank' | 'empty' | 'unknown bank'
}

/** The bank has spoken: asking again would not help. Details come back typed, also after a crash. */
const CardDeclined = failure<{ missing: number }>('CardDeclined', { retryable: false })

const charge = activity(
  'charge',
  { retry: { maxAttempts: 3, delay: '1500ms', backoff: 'fixed', jitter: false }, timeout: '5s' },
  async ({ id, card }: Payment, ctx) => {
    console.log(`  ${id}: attempt ${ctx.attempt}`)
    if (card === 'empty') throw new CardDeclined('not enough money', { missing: 20 })
    if (card === 'unknown bank') throw new Error('no route to the bank')
    if (card === 'slow bank' && ctx.attempt < 3) throw new Error('the bank is busy')
    // The key is the same for every attempt, so a bank that knows such keys charges once.
    return `receipt ${ctx.idempotencyKey}`
  },
)

const pay = workflow('pay', async (payment: Payment, ctx) => {
  try {
    const receipt = await ctx.run(charge, payment)
    return `paid, ${receipt}`
  } catch (error) {
    if (error instanceof CardDeclined) return `declined, ${error.details.missing} are missing`
    if (!(error instanceof ActivityError)) throw error
    // A step is an activity that is written where it is needed.
    const ticket = await ctx.step('open ticket', () => `ticket for ${payment.id}`)
    return `${error.message}, ${ticket}`
  }
})

const payments: readonly Payment[] = [
  { id: 'pay-1', card: 'sound' },
  { id: 'pay-2', card: 'slow bank' },
  { id: 'pay-3', card: 'empty' },
  { id: 'pay-4', card: 'unknown bank' },
]

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: pay })
await Promise.all(
  payments.map(async (payment) => {
    const outcome = await holdfast.run(pay, payment, { id: payment.id })
    console.log(`${payment.id}: ${outcome}`)
  }),
)
