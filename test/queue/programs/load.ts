// A process that pushes and handles messages until it is killed: `load <path> <name> [threadless]`.
// It prints which pushes were confirmed, and what it is about to acknowledge.

import { openQueue } from '../../../src/queue/index.ts'
import { say } from './say.ts'

const [path, name, threadless] = process.argv.slice(2) as [string, string, string?]

const queue = await openQueue<string>(path, { lazy: true, thread: threadless === undefined })
say('ready')

const LEVELS = ['fsync', 'os'] as const

async function push(pusher: number): Promise<never> {
  const durability = LEVELS[pusher]!
  for (let i = 0; ; i++) {
    const data = `${name}/${pusher}/${i}`
    const id = await queue.push(data, { durability })
    say(`pushed ${id} ${data}`)
  }
}

async function consume(): Promise<void> {
  for await (const delivery of queue.consume()) {
    // Some are left unsettled when the end comes.
    if (delivery.id % 3 === 0) continue
    say(`acking ${delivery.id}`)
    await delivery.ack()
    say(`acked ${delivery.id}`)
  }
}

await Promise.all([push(0), push(1), consume(), consume()])
