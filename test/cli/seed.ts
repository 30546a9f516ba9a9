import { setTimeout as delay } from 'node:timers/promises'
import { type Client, open, type Store } from 'holdfast'
import { outbox, topic } from 'holdfast/outbox'
import { openQueue } from 'holdfast/queue'
import { approval, family, order } from './programs/shop.ts'

export const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

/** Text that would clear a terminal and set its title, were it printed as it is. */
export const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e'

/** Fills a store with instances in all states; no runtime runs afterwards. */
export async function seedInstances(store: string | Store): Promise<void> {
  const holdfast = await open(store, { register: [order, approval, family], log: QUIET })
  await holdfast.run(order, { cents: 700 }, { id: 'order-7', labels: { customer: '42' } })
  await failing(holdfast, 'order-8', '4242')
  await failing(holdfast, 'order-hostile', HOSTILE)
  await holdfast.run(order, { cents: 900 }, { id: 'order-9' })
  await holdfast.start(approval, null, { id: 'approval-1', labels: { region: 'eu' } })
  await holdfast.start(approval, null, { id: 'approval-2' })
  await holdfast.start(approval, null, { id: 'paused-1' })
  await holdfast.run(family, 2, { id: 'family-1' })
  await holdfast.schedule('nightly', { cron: '0 3 * * *', timezone: 'Europe/Berlin' }, order, {
    cents: 1,
  })
  await holdfast.idle()
  await holdfast.get('paused-1').suspend('for the test')
  await holdfast.close()
}

async function failing(client: Client, id: string, card: string): Promise<void> {
  await client.run(order, { cents: -1, card }, { id }).catch(() => {})
}

const placed = topic<{ order: string }>('order-placed')

/** Puts a dead letter and two messages that nobody has handled into an outbox. */
export async function seedOutbox(
  client: Client,
  transact: (work: (tx: never) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const events = outbox(client)
  events.handle(
    placed,
    async () => {
      throw new Error('no printer')
    },
    { maxAttempts: 1 },
  )
  await events.start()
  await transact((tx) => events.in(tx).enqueue(placed, { order: 'order-7' }))
  while ((await events.deadLetters.count()) === 0) await delay(20)
  await events.stop()
  await transact((tx) =>
    events
      .in(tx)
      .enqueueMany(placed, [{ payload: { order: 'order-8' } }, { payload: { order: 'order-9' } }]),
  )
}

/** Fills a queue: two messages, and a dead letter. */
export async function seedQueue(path: string): Promise<void> {
  await using queue = await openQueue<string>(path, { maxAttempts: 1, log: QUIET })
  await queue.push('first')
  const delivery = await queue.take()
  await delivery!.nack({ reason: 'broken' })
  await queue.pushMany(['second', 'third'])
}
