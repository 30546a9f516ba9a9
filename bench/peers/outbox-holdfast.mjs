// The outbox of Holdfast, as it was built. By default one message at a time; best: in batches.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { consumers, folder, serve, settings, url } from './outbox-process.mjs'

const built = (path) => import(pathToFileURL(join(folder, 'dist', path)).href)
const { connect } = await built('index.js')
const { outbox, topic } = await built('outbox/index.js')

const orders = topic('orders')
const numbers = new Map()
let gaps = 0

function note({ partition, seq }) {
  if (seq !== (numbers.get(partition) ?? 0) + 1) gaps++
  numbers.set(partition, seq)
}

await serve(
  async (seen) => {
    const events = outbox(connect(url))
    if (settings === 'default') {
      const handle = async (message) => {
        note(message)
        seen(message.payload)
      }
      events.handle(orders, handle, { concurrency: consumers })
    } else {
      const handle = async (messages) => {
        for (const message of messages) {
          note(message)
          seen(message.payload)
        }
      }
      events.handleBatch(orders, handle, { concurrency: consumers, profile: 'high-throughput' })
    }
    await events.start()
    return (tx, items) =>
      items.length === 1
        ? events.in(tx).enqueue(orders, items[0], { key: items[0].key })
        : events.in(tx).enqueueMany(
            orders,
            items.map((payload) => ({ payload, key: payload.key })),
          )
  },
  () => {
    if (gaps > 0) throw new Error(`${gaps} messages came out of order`)
  },
)
