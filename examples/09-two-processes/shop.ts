// Places orders, looks at them and approves them; runs nothing. In place of a web server: each call is
// a process of its own.
//
//   npx tsx examples/09-two-processes/shop.ts place order-1 piano 50000
//   npx tsx examples/09-two-processes/shop.ts show order-1
//   npx tsx examples/09-two-processes/shop.ts approve order-1
//   npx tsx examples/09-two-processes/shop.ts wait order-1

import { connect } from 'holdfast'
import { approvals, order } from './order.ts'

const [verb = '', id = '', item = 'tea', cents = '500'] = process.argv.slice(2)

await using client = connect(process.env['STORE'] ?? 'file:shop.db')
const instance = client.get(order, id)

switch (verb) {
  case 'place':
    // Placed twice under one id, it is one order.
    await client.start(order, { item, cents: Number(cents) }, { id })
    console.log(`${id}: placed`)
    break
  case 'approve':
    await instance.send(approvals, { by: 'Kim', ok: true }, { dedupeKey: 'approval' })
    console.log(`${id}: approved`)
    break
  case 'show': {
    const info = await instance.info()
    console.log(`${id}: ${info?.status ?? 'unknown'}`, ...(info?.waitingFor ?? []))
    break
  }
  case 'wait':
    console.log(`${id}: ${await instance.result({ timeout: '1m' })}`)
    break
  default:
    console.log('usage: shop.ts place|show|approve|wait <id> [item] [cents]')
}
