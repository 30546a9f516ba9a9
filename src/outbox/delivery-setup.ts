import type { Logger } from '../base/log.ts'
import type { Clock } from '../base/time/clock.ts'
import type { OutboxStore, Step, StepAnswer } from '../store/outbox-store.ts'
import type { Handler } from './handlers.ts'
import type { OutboxMeter } from './meter.ts'
import type { PartitionCall } from './partition-call.ts'
import type { RetryPolicy, Settled } from './settlement.ts'
import type { OutboxTracer } from './tracer.ts'

/** What a partition is delivered with. */
export interface DeliverySetup {
  readonly topic: string
  /** The number of the first partition of the topic. */
  readonly first: number
  readonly handler: Handler
  readonly policy: RetryPolicy
  readonly leaseMs: number
  /** See `CallScope`. */
  readonly graceMs: () => number
  readonly rounds: number
  readonly clock: Clock
  readonly log: Logger
  /** Measures what is delivered; `undefined` without a metrics sink. */
  readonly meter: OutboxMeter | undefined
  /** Reports spans; `undefined` without tracing. */
  readonly tracer: OutboxTracer | undefined
  readonly decode: (text: string) => unknown
  readonly store: Pick<OutboxStore, 'transact'>
  /** Takes one step; several at the same time become one call of the store. */
  readonly step: (step: Step) => Promise<StepAnswer>
  /** The number of this process in the store. */
  readonly runtime: () => number
  /** The store's time. */
  readonly storeNow: () => number
  /** By partition, batches that may be stored, though there was no answer that says so. */
  readonly unconfirmed: Map<number, PartitionCall>
  /** Counts what was delivered. */
  readonly count: (settled: Pick<Settled, 'delivered' | 'expired' | 'retries' | 'dead'>) => void
}
