import type { OutboxTick } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { nextDelayed } from './delayed.ts'
import { lookForWork } from './look.ts'

/** All that there is to deliver, now or later. */
export type OutboxOutlook = Omit<OutboxTick, 'state' | 'leaseEndsAt'>

/** What a hint would have announced. */
export function outboxOutlook(tx: Transaction, prefix: string): OutboxOutlook {
  return { ...lookForWork(tx, prefix, null), delayedAt: nextDelayed(tx, prefix) }
}
