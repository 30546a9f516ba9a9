import type { OutboxTick } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { firstLeaseEnd, renewLease } from '../operations/runtimes.ts'
import { reclaimDead } from '../operations/tick.ts'
import { outboxOutlook } from './outlook.ts'

/** Renews the lease of a runtime, declares runtimes dead that are gone or silent, and says what there is to do. */
export function outboxTick(
  tx: Transaction,
  prefix: string,
  runtime: number,
  leaseMs: number,
): OutboxTick {
  const { state, clock } = renewLease(tx, runtime, leaseMs)
  if (state === 'dead') return { state, clock, work: [], delayedAt: null, leaseEndsAt: null }
  reclaimDead(tx, runtime)
  return { state, ...outboxOutlook(tx, prefix), leaseEndsAt: firstLeaseEnd(tx, runtime) }
}
