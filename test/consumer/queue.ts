import {
  type Delivery,
  MemoryQueue,
  openQueue,
  type Queue,
  type QueueCodec,
  QueueError,
  type QueueOptions,
} from 'holdfast/queue'

interface Order {
  readonly id: string
}

export const options: QueueOptions<Order> = { name: 'orders', lease: '1m', maxAttempts: 5 }
export const codec: QueueCodec<Order> = {
  version: 1,
  encode: ({ id }) => id,
  decode: (data) => ({ id: String(data) }),
}

export const open = (path: string): Promise<Queue<Order>> =>
  openQueue(path, { ...options, codec, durability: 'os' })

export async function work(queue: Queue<Order>, signal: AbortSignal): Promise<void> {
  await queue.push({ id: 'order-1' }, { key: 'customer-7', delay: '5s' })
  for await (const delivery of queue.consume({ signal })) await handle(delivery)
}

export async function handle(delivery: Delivery<Order>): Promise<void> {
  try {
    await delivery.ack()
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'not_in_flight') throw error
  }
}

const memory = new MemoryQueue<Order>()
memory.push({ id: 'order-2' })
export const popped: Order | undefined = memory.pop()
