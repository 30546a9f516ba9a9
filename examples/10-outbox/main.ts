// A shop that tells another service of its orders. An order and the message about it are one commit: no
// order goes unannounced, and no order is announced that was rolled back. Stop it anywhere and run it again.
//
//   npm run build && npx tsx examples/10-outbox/main.ts [file:shop.db]

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'holdfast'
import { outbox, topic } from 'holdfast/outbox'
import { openDatabase } from 'holdfast/sqlite'
import { startWebhook } from './webhook.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly item: string
}

// A constant that producers and handlers share.
const placed = topic<Order>('order-placed')

const url = process.argv[2] ?? `file:${join(mkdtempSync(join(tmpdir(), 'shop-')), 'shop.db')}`
await using webhook = await startWebhook()
await using holdfast = connect(url)
const events = outbox(holdfast)

events.handle(
  placed,
  async ({ id, payload, headers, attempt }, ctx) => {
    const answer = await fetch(webhook.url, {
      method: 'POST',
      body: JSON.stringify(payload),
      // The id is the same in every attempt, so that the other side can recognise a repetition.
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': id },
      signal: ctx.signal,
    })
    if (answer.ok) console.log(`  ${payload.id}: sent in attempt ${attempt}`)
    // The other side has understood it and says no: another attempt would not help.
    else if ([400, 410, 422].includes(answer.status)) ctx.reject(await answer.text())
    else if (answer.status === 429) {
      ctx.retry(Number(answer.headers.get('retry-after') ?? 5) * 1_000)
    } else throw new Error(`status ${answer.status}`)
  },
  { lease: '10s', retry: { delay: '50ms', maxDelay: '1s' } },
)
await events.start()

const shop = openDatabase({ path: url.slice('file:'.length) })
shop.exec('create table if not exists orders (id text primary key, item text not null)')

/** Takes an order and enqueues a message about it: both, or neither. */
async function take(order: Order): Promise<void> {
  shop.exec('begin immediate')
  try {
    shop.prepare('insert into orders values (?, ?)').run(order.id, order.item)
    await events.in(shop).enqueue(placed, order, {
      key: order.customer, // messages of one customer are delivered in order
      headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    })
    if (order.item === 'unicorn') throw new Error('we have none')
    shop.exec('commit')
    console.log(`${order.id}: taken`)
  } catch (error) {
    shop.exec('rollback')
    console.log(`${order.id}: not taken, ${(error as Error).message}`)
  }
}

await take({ id: 'order-1', customer: 'ada', item: 'chair' })
await take({ id: 'order-2', customer: 'ben', item: 'table' })
await take({ id: 'order-3', customer: 'cyd', item: 'unicorn' })
await take({ id: 'order-4', customer: 'dot', item: 'lamp' })
await take({ id: 'order-5', customer: 'eve', item: 'cursed mirror' })

await events.drain({ timeout: '20s' })
for (const { message, reason } of (await events.deadLetters.list()).items) {
  console.log(`${(message.payload as Order).id}: dead letter, ${reason}`)
}
const { n } = shop.prepare('select count(*) as n from orders').get() as { n: number }
console.log(`orders: ${n}`)
shop.close()
