import type { Logger } from '../base/log.ts'
import { harmless, type Metrics } from '../base/metrics.ts'
import type { Settled } from './settlement.ts'

/** Counts and times what an outbox delivers: see docs/reference/metrics.md. */
export class OutboxMeter {
  readonly #metrics: Metrics

  constructor(metrics: Metrics, log: Logger) {
    this.#metrics = harmless(metrics, log)
  }

  /** A handler was called with one message; `outcome` is `batch` for a handler of batches. */
  handled(topic: string, outcome: string, ms: number): void {
    this.#metrics.record('holdfast_outbox_handler_ms', ms, { topic, outcome })
  }

  /** What became of a batch is stored; `delaysMs` since the messages were enqueued. */
  settled(
    topic: string,
    {
      delivered,
      expired,
      retries,
      dead,
    }: Pick<Settled, 'delivered' | 'expired' | 'retries' | 'dead'>,
    delaysMs: readonly number[],
  ): void {
    this.#count('holdfast_outbox_delivered', delivered, topic)
    this.#count('holdfast_outbox_expired', expired, topic)
    this.#count('holdfast_outbox_retried', retries.length, topic)
    this.#count('holdfast_outbox_dead', dead.length, topic)
    for (const ms of delaysMs) this.#metrics.record('holdfast_outbox_delivery_ms', ms, { topic })
  }

  #count(name: string, by: number, topic: string): void {
    if (by > 0) this.#metrics.count(name, by, { topic })
  }
}
