// Carries orders out. Start as many as you like.
//
//   npm run build && npx tsx examples/09-two-processes/worker.ts [store URL]

import { activity, open } from 'holdfast'
import { approvals, order } from './order.ts'

const ship = activity('ship', async (item: string) => {
  console.log(`ships the ${item}`)
  return `the ${item} is on its way`
})

const fulfil = order.implement(async ({ item, cents }, ctx) => {
  if (cents > 10_000) {
    const answer = await ctx.receive(approvals, { timeout: '3d' })
    if (answer === undefined) return 'nobody approved it'
    if (!answer.ok) return `refused by ${answer.by}`
  }
  return ctx.run(ship, item)
})

const holdfast = await open(process.argv[2] ?? 'file:shop.db', { register: fulfil })
console.log('ready')

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void holdfast.close())
}
