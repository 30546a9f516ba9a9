// A process with nothing but a handler, which waits for others only for a moment: `handler <path>`. It
// ends with its first message.

import { systemClock } from '../../../src/base/time/clock.ts'
import { openDurableQueue } from '../../../src/queue/durable-queue.ts'
import { queueSettings } from '../../../src/queue/options.ts'
import { sqliteSettings } from '../../../src/sqlite/connect/options.ts'
import { SqliteQueueStore } from '../../../src/sqlite/queue-store.ts'
import { SqliteThread } from '../../../src/sqlite/thread/thread.ts'
import { say } from './say.ts'

const BUSY_MS = 50

async function main(path: string): Promise<void> {
  const thread = new SqliteThread({
    ...sqliteSettings({ path, durability: 'os' }),
    busyMs: BUSY_MS,
    holds: 'queues',
  })
  const queue = await openDurableQueue<string>({
    ...queueSettings<string>({
      log: { debug() {}, info() {}, warn: (_, message) => say(`warned: ${message}`), error() {} },
    }),
    store: new SqliteQueueStore(thread, 'default'),
    clock: systemClock(),
    idleClock: systemClock({ unref: true }),
    random: Math.random,
  })
  queue.handle(async ({ data }) => {
    say(`handled ${data}`)
    setImmediate(() => void queue.close())
  })
  say('ready')
}

const [path] = process.argv.slice(2) as [string]
void main(path)
