// The public entry `holdfast/queue`: durable queues in an SQLite file.

import { systemClock } from '../base/time/clock.ts'
import { sqliteSettings } from '../sqlite/connect/options.ts'
import { SqliteQueueStore } from '../sqlite/queue-store.ts'
import { SameThread } from '../sqlite/thread/same-thread.ts'
import { SqliteThread } from '../sqlite/thread/thread.ts'
import { openDurableQueue } from './durable-queue.ts'
import { checkPath, type QueueOptions, queueSettings } from './options.ts'
import type { Queue } from './queue.ts'

/**
 * Opens a queue in a file, which is created when there is none.
 *
 * Several processes of one machine may open the same file. Other data in it is refused. `path` is
 * a path, not an address such as `file:…`; `':memory:'` keeps nothing.
 *
 * @example
 * await using queue = await openQueue<Order>('orders.db')
 * await queue.push(order)
 * const delivery = await queue.take()
 * await delivery?.ack()
 */
export async function openQueue<T>(path: string, options?: QueueOptions<T>): Promise<Queue<T>> {
  checkPath(path)
  const settings = queueSettings(options)
  // Each batch says itself how durable it has to be.
  const file = { ...sqliteSettings({ path }), holds: 'queues' } as const
  const thread = settings.thread ? new SqliteThread(file) : new SameThread(file)
  return openDurableQueue({
    ...settings,
    store: new SqliteQueueStore(thread, settings.name),
    clock: systemClock(),
    idleClock: systemClock({ unref: true }),
    random: Math.random,
  })
}

export type { Duration } from '../base/time/duration.ts'
export { TimeoutError } from '../base/errors.ts'
export type { Log, Logger } from '../base/log.ts'
export type { Metrics } from '../base/metrics.ts'
export { StoreError, type StoreErrorCode } from '../store/store-error.ts'
export { MemoryQueue } from './memory-queue.ts'
export type { QueueOptions } from './options.ts'
export type { QueueCodec } from './payloads.ts'
export type {
  ConsumeOptions,
  Counts,
  DeadLetter,
  DeadLetters,
  Delivery,
  Durability,
  HandleContext,
  PushOptions,
  Queue,
  Stored,
  Wait,
} from './queue.ts'
export { QueueError, type QueueErrorCode } from './queue-error.ts'
