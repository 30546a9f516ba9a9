// What a queue does, for a sink of measurements.
//
//   - Without a sink there is no meter, and nothing is measured.
//   - An error of the sink is logged once and otherwise ignored.

import type { Logger } from '../base/log.ts'
import { harmless, type Metrics } from '../base/metrics.ts'
import type { BatchAnswer, Change, ChangeKind, QueueEvents } from '../store/queue-store.ts'
import type { StoreError } from '../store/store-error.ts'

/** What a batch was about, as far as it is measured. */
export interface MeteredBatch {
  readonly changes: readonly { readonly changes: readonly Change[] }[]
  /** When each was asked for. */
  readonly pushes: readonly { readonly at: number }[]
  /** When it was sent. */
  readonly at: number
}

const COUNTED: readonly (readonly [kind: ChangeKind, name: string])[] = [
  ['ack', 'holdfast_queue_acked'],
  ['nack', 'holdfast_queue_nacked'],
]

/** Counts and times what one queue does. */
export class Meter {
  readonly #metrics: Metrics
  readonly #labels: { readonly queue: string }

  constructor(metrics: Metrics, queue: string, log: Logger) {
    this.#metrics = harmless(metrics, (error) => {
      log.error({ err: error }, 'a metrics sink threw; later errors are not logged')
    })
    this.#labels = { queue }
  }

  /** A batch was answered. */
  answered({ changes, pushes, at }: MeteredBatch, answer: BatchAnswer, now: number): void {
    const stored = answer.pushes.filter(({ state }) => state === 'stored')
    this.#count(
      'holdfast_queue_pushed',
      stored.reduce((sum, { count }) => sum + count, 0),
    )
    pushes.forEach((push, i) => {
      const { state } = answer.pushes[i]!
      // One that is not there may have to wait, and be sent again.
      if (state === 'stored' || state === 'duplicate') {
        this.#record('holdfast_queue_push_ms', now - push.at)
      }
    })
    const done = changes
      .flatMap((entry) => entry.changes)
      .filter((_, i) => answer.changes[i] === 'done')
    for (const [kind, name] of COUNTED) {
      this.#count(name, done.filter((change) => change.kind === kind).length)
    }
    this.#count('holdfast_queue_delivered', answer.taken.length)
    for (const { pushedAt } of answer.taken) {
      this.#record('holdfast_queue_wait_ms', answer.queueState.now - pushedAt)
    }
    this.#record('holdfast_queue_commit_ms', now - at)
  }

  /** A batch failed. */
  failed({ code }: StoreError): void {
    this.#metrics.count('holdfast_queue_errors', 1, { ...this.#labels, code })
  }

  /** The store has seen this happen. */
  events({ expired, lapsed, dead }: QueueEvents): void {
    this.#count('holdfast_queue_expired', expired)
    this.#count('holdfast_queue_lapsed', lapsed)
    this.#count('holdfast_queue_dead', dead)
  }

  /** A delivery that was acknowledged or nacked had been out for so long. */
  wasInFlight(ms: number): void {
    this.#record('holdfast_queue_in_flight_ms', ms)
  }

  #count(name: string, by: number): void {
    if (by > 0) this.#metrics.count(name, by, this.#labels)
  }

  #record(name: string, value: number): void {
    this.#metrics.record(name, value, this.#labels)
  }
}
