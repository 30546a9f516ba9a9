// Calls that go wrong: some are worth another try, some are not, some never work. On a file, stop it
// half-way and run it again: what is paid stays paid, and attempts are counted on.
//
//   npm run build && npx tsx examples/02-retries/main.ts [store URL]

import { open } from 'holdfast'
import { pay, type Payment } from './workflow.ts'

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
