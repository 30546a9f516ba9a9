import { type Client, connect, type Transaction } from 'holdfast'
import {
  type BatchContext,
  type DeadLetter,
  type DeadLetterFilter,
  type EnqueueOptions,
  type HandleOptions,
  type HandlerContext,
  type Message,
  type Outbox,
  outbox,
  type OutboxHealth,
  type OutboxOptions,
  type OutboxStats,
  type Profile,
  type Topic,
  topic,
  type TransactionalContext,
} from 'holdfast/outbox'

interface Order {
  readonly id: string
}

export const placed: Topic<Order> = topic<Order>('order-placed', { partitions: 32 })
export const profile: Profile = 'low-latency'
export const options: OutboxOptions = { prefix: 'events', profile, dedupeWindow: '2d' }
export const filter: DeadLetterFilter = { topic: 'order-placed', status: 'any', limit: 10 }

export const open = (client: Client): Outbox => outbox(client, options)
export const connected = (url: string): Outbox => open(connect(url))

const HANDLE: HandleOptions = { concurrency: 8, whenStuck: 'skip', retry: { delay: '1s' } }

export function handleAll(events: Outbox): void {
  events.handle(placed, one, HANDLE)
  events.handleBatch(topic<Order>('billed'), many, { batchSize: 500 })
  events.handleTransactional(topic<Order>('audited'), audit)
}

export async function one(message: Message<Order>, ctx: HandlerContext): Promise<void> {
  if (message.payload.id === '') ctx.reject('no id')
  if (ctx.fence < 1n) ctx.retry('5s')
}

export async function many(
  messages: readonly Message<Order>[],
  ctx: BatchContext<Order>,
): Promise<void> {
  for (const message of messages) ctx.ack(message)
}

export async function audit({ id }: Message<Order>, ctx: TransactionalContext): Promise<void> {
  await ctx.tx.query('insert into audit values ($1)', [id])
}

export async function place(events: Outbox, tx: Transaction, order: Order): Promise<string> {
  const keyed: EnqueueOptions = { key: order.id, dedupeKey: order.id, ttl: '1d' }
  const { id, duplicate } = await events.in(tx).enqueue(placed, order, keyed)
  const more = await events.in(tx, { notify: false }).enqueueMany(placed, [{ payload: order }])
  return duplicate ? id : more.join()
}

export async function look(events: Outbox): Promise<readonly [OutboxHealth, OutboxStats[]]> {
  const { items } = await events.deadLetters.list(filter)
  await events.deadLetters.requeue(items.map(({ id }: DeadLetter) => id))
  return [events.health(), [...(await events.stats())]]
}
