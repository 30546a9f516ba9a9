// A process that takes a message and does not let go of it before it gets a line: `holder.ts <order as
// JSON>`. It says `got <attempt>` then, and `lost` when what it did has no effect.

import { once } from 'node:events'
import { connect } from '../../../src/index.ts'
import { outbox, topic } from '../../../src/outbox/index.ts'
import { storeOf, type StorePlace } from '../../e2e/store-place.ts'

/** The order that a process gets. */
export interface HolderOrder {
  readonly store: StorePlace
  readonly topic: string
}

const order = JSON.parse(process.argv[2]!) as HolderOrder
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const client = connect(storeOf(order.store), {
  log: {
    debug() {},
    info() {},
    warn(_, message) {
      if (message?.startsWith('partition lost')) say('lost')
    },
    error() {},
  },
})
const box = outbox(client)
box.handle(topic<number>(order.topic, { partitions: 1 }), async ({ attempt }) => {
  say(`got ${attempt}`)
  await once(process.stdin, 'data')
})
await box.start()
