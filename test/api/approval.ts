// A person has to approve, and may take days, or never answer.

import { channel, type Client, message, type Schema, workflow } from 'holdfast'
import { mail, type Order } from './domain.ts'

declare const answer: Schema<{ by: string; ok?: boolean }, { by: string; ok: boolean }>

export const approvals = channel('approvals', { schema: answer, capacity: 10 })

export const approve = workflow(
  'approve',
  { timeout: '7d', cleanup: '1m' },
  async (order: Order, ctx) => {
    await ctx.step('ask', () => mail.send('boss@example.com', `May ${order.id} go out?`))
    const answered = await ctx.receive(approvals, { timeout: '3d' })
    if (answered === undefined) return 'expired'
    return answered.ok ? `approved by ${answered.by}` : 'refused'
  },
)

/** A click in an email: it may come twice, and before the order exists. */
export async function clicked(client: Client, orderId: string, click: string): Promise<void> {
  const instance = client.get(approve, orderId)
  await instance.send(approvals, { by: 'kim' }, { dedupeKey: click })
}

/** An order that is approved before it begins. */
export async function startApproved(client: Client, order: Order): Promise<string> {
  const instance = await client.start(approve, order, {
    id: order.id,
    onConflict: 'error',
    labels: { customer: order.email },
    send: message(approvals, { by: 'rule 7', ok: true }),
  })
  return instance.result({ timeout: '1m' })
}
