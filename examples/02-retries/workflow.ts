import { activity, ActivityError, failure, workflow } from 'holdfast'

export interface Payment {
  readonly id: string
  readonly card: 'sound' | 'slow bank' | 'empty' | 'unknown bank'
}

/** The bank has spoken: asking again would not help. Details come back typed, even after a crash. */
export const CardDeclined = failure<{ missing: number }>('CardDeclined', { retryable: false })

export const charge = activity(
  'charge',
  { retry: { maxAttempts: 3, delay: '1500ms', backoff: 'fixed', jitter: false }, timeout: '5s' },
  async ({ id, card }: Payment, ctx) => {
    console.log(`  ${id}: attempt ${ctx.attempt}`)
    if (card === 'empty') throw new CardDeclined('not enough money', { missing: 20 })
    if (card === 'unknown bank') throw new Error('no route to the bank')
    if (card === 'slow bank' && ctx.attempt < 3) throw new Error('the bank is busy')
    // The key is the same for every attempt, so a bank that supports such keys charges once.
    return `receipt ${ctx.idempotencyKey}`
  },
)

export const pay = workflow('pay', async (payment: Payment, ctx) => {
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
