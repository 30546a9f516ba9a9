// The public entry `holdfast/outbox`.
import { describe } from '../base/describe.ts'
import type { Client, Transaction } from '../engine/define/client.ts'
import { CLIENT_ACCESS, type ClientWithAccess } from '../store/client-access.ts'
import type { Outbox as AnyOutbox, OutboxInTransaction } from './outbox.ts'
import { type OutboxOptions, OutboxService } from './service.ts'

/** Messages that are written in your transactions, and delivered afterwards. */
export interface Outbox extends AnyOutbox {
  in(tx: Transaction, options?: { notify?: boolean }): OutboxInTransaction
}

/**
 * Creates an outbox in the database of a client. To enqueue, nothing else is needed; to deliver, add handlers
 * and call `start`. It stops when the client is closed.
 */
export function outbox(client: Client, options?: OutboxOptions): Outbox {
  const access = (client as Partial<ClientWithAccess> | undefined)?.[CLIENT_ACCESS]
  if (access === undefined) {
    throw new TypeError(`outbox: needs a client, from open() or connect(), got ${describe(client)}`)
  }
  return new OutboxService(access, options)
}

export type { DeadLetter, DeadLetterFilter, DeadLetters } from './dead-letters.ts'
export type { EnqueueItem, EnqueueOptions } from './enqueue.ts'
export type {
  BatchContext,
  HandlerContext,
  HandleOptions,
  TransactionalContext,
  WhenStuck,
} from './handlers.ts'
export type { Message } from './message.ts'
export type { OutboxHealth, OutboxInTransaction, OutboxStats, OutboxTotals } from './outbox.ts'
export type { Profile } from './profiles.ts'
export type { OutboxOptions } from './service.ts'
export { type Topic, topic, type TopicOptions } from './topic.ts'
