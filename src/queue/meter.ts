// What a queue does, for a sink of measurements.
//
//   - Without a sink there is no meter, and nothing is measured.
//   - An error of the sink is logged once and otherwise ignored.

import type { Logger } from '../base/log.ts'
import { harmless, type Metrics } from '../base/metrics.ts'
import type {
  BatchAnswer,
  Change,
  ChangeKind,
  QueueCounts,
  QueueState,
} from '../store/queue-store.ts'
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

const STATES = ['ready', 'inFlight', 'delayed', 'dead'] as const satisfies (keyof QueueCounts)[]

/** Counts and times what one queue does. */
export class Meter {
  readonly #metrics: Metrics
  readonly #labels: { readonly queue: string }
  readonly #depth = new Map<keyof QueueCounts, number>()

  constructor(metrics: Metrics, queue: string, log: Logger) {
    this.#metrics = harmless(metrics, log)
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

  /** What the store has seen happen, and what it has now. */
  saw({ events, counts }: Pick<QueueState, 'events' | 'counts'>): void {
    this.#count('holdfast_queue_expired', events.expired)
    this.#count('holdfast_queue_lapsed', events.lapsed)
    this.#count('holdfast_queue_dead', events.dead)
    for (const state of STATES) {
      if (this.#depth.get(state) === counts[state]) continue
      this.#depth.set(state, counts[state])
      this.#metrics.gauge?.('holdfast_queue_depth', counts[state], { ...this.#labels, state })
    }
  }

  /** A delivery that was acknowledged or nacked had been out for this long. */
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
