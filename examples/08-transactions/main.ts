// A shop with tables of its own, in the file in which its workflows are. An order and the start of
// the workflow that handles it are one commit; so are a payment and the record that it was made.
// Stop it anywhere and run it again: no order is forgotten, and none is paid twice.
//
//   npm run build && npx tsx examples/08-transactions/main.ts [file:shop.db]

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'holdfast'
import { openDatabase } from 'holdfast/sqlite'
import { fulfil, type Order } from './workflow.ts'

const url = process.argv[2] ?? `file:${join(mkdtempSync(join(tmpdir(), 'shop-')), 'shop.db')}`
await using holdfast = await open(url, { register: fulfil })

// A connection of the shop's own, made by the SQLite library that the store uses: two libraries in one
// process would not see each other's locks.
const shop = openDatabase({ path: url.slice('file:'.length) })
shop.exec(`
  create table if not exists accounts (owner text primary key, cents integer not null);
  create table if not exists orders (id text primary key, cents integer not null);
  create table if not exists payments (id text primary key, cents integer not null);
  insert or ignore into accounts values ('ada', 5000), ('ben', 100);
`)

/** Takes an order, and has it seen to: both, or neither. */
async function take(order: Order): Promise<void> {
  shop.exec('begin immediate')
  try {
    shop.prepare('insert or ignore into orders values (?, ?)').run(order.id, order.cents)
    await holdfast.in(shop).start(fulfil, order, { id: order.id })
    if (order.cents > 10_000) throw new Error('we do not have that many')
    shop.exec('commit')
  } catch (error) {
    shop.exec('rollback')
    console.log(`${order.id}: not taken, ${(error as Error).message}`)
  }
}

await take({ id: 'order-1', buyer: 'ada', cents: 2000 })
await take({ id: 'order-2', buyer: 'ben', cents: 2000 })
await take({ id: 'order-3', buyer: 'ada', cents: 99_000 })

for (const id of ['order-1', 'order-2', 'order-3']) {
  const order = holdfast.get(fulfil, id)
  if ((await order.info()) === undefined) console.log(`${id}: no workflow handles it`)
  else console.log(`${id}: ${await order.result().catch((error: Error) => error.message)}`)
}

for (const table of ['accounts', 'orders', 'payments']) {
  const rows = shop.prepare(`select * from ${table}`).all() as object[]
  console.log(table, JSON.stringify(rows.map((row) => Object.values(row))))
}
shop.close()
