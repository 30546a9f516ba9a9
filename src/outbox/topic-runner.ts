import { CancelledError } from '../base/errors.ts'
import { Limit } from '../base/sync/limit.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import type { Logger } from '../base/log.ts'
import type { Clock } from '../base/time/clock.ts'
import type { TopicRow } from '../store/outbox-store.ts'
import { StoreError } from '../store/store-error.ts'
import { type Directive, idle, proceed } from '../workers/directive.ts'
import { type PassContext, worker, type Worker } from '../workers/worker.ts'
import { BatchSize } from './batch-size.ts'
import { deliver, type DeliveryEnd } from './deliver.ts'
import type { DeliverySetup } from './delivery-setup.ts'
import { DirtyPartitions, type PartitionGuard } from './dirty-partitions.ts'
import type { ResolvedHandler } from './handle-options.ts'
import { reasonOf } from './outcome.ts'

/** What the runner of a topic needs beside what deliveries need. */
export interface RunnerSetup extends Omit<
  DeliverySetup,
  'topic' | 'first' | 'handler' | 'policy' | 'leaseMs' | 'rounds' | 'unconfirmed'
> {
  readonly clock: Clock
  readonly log: Logger
  /** Aborts when this process has lost its partitions. */
  lost(): AbortSignal
  /** This process was declared dead under this number. */
  onDead(runtime: number): Promise<void>
  /** Looks whether something was added while the partition was given back. */
  look(partition: number): Promise<LookAnswer>
}

/** What a poll found. */
export interface LookAnswer {
  readonly isBlocked: boolean
  /** In how long there is something to deliver; `Infinity` for never. */
  readonly dueInMs: number
}

// Transactions that stay open for longer are worth a line in the log.
const LONG_BLOCK_MS = 10_000

/** Delivers the partitions of one topic: as many at the same time as its handler allows. */
export class TopicRunner {
  readonly dirty: DirtyPartitions
  readonly workers: readonly Worker[]
  readonly #setup: RunnerSetup
  readonly #topic: TopicRow
  readonly #delivery: DeliverySetup
  readonly #handler: ResolvedHandler
  /** Only of partitions that had a failure. */
  readonly #sizes = new Map<number, BatchSize>()
  readonly #blockedSince = new Map<number, number>()
  /** Whether there was a line in the log since the last time when none was blocked. */
  #isBlockReported = false

  constructor(setup: RunnerSetup, topic: TopicRow, handler: ResolvedHandler) {
    const { clock, log } = setup
    this.#setup = setup
    this.#topic = topic
    this.#handler = handler
    this.#delivery = {
      ...setup,
      topic: topic.name,
      first: topic.first,
      handler: handler.handler,
      policy: handler.policy,
      leaseMs: handler.leaseMs,
      rounds: handler.tuning.rounds,
      unconfirmed: new Map(),
    }
    this.dirty = new DirtyPartitions(clock)
    this.workers = Array.from({ length: handler.concurrency }, (_, i) =>
      worker(
        `outbox "${topic.name}" ${i + 1}`,
        { wakeOn: [this.dirty.ready], pacing: handler.tuning.pacing, clock, log },
        (ctx) => this.#pass(ctx),
      ),
    )
  }

  /** Whether a partition belongs to this topic. */
  has(partition: number): boolean {
    const { first, partitions } = this.#topic
    return partition >= first && partition < first + partitions
  }

  /** Partitions that wait although all workers are busy. */
  overflow(): readonly number[] {
    return this.dirty.claimed < this.#handler.concurrency ? [] : this.dirty.waiting()
  }

  async #pass({ signal, stopping }: PassContext): Promise<Directive> {
    const guard = stopping.aborted ? undefined : this.dirty.take()
    if (guard === undefined) return idle()
    const { partition } = guard
    const size = this.#sizes.get(partition) ?? this.#newSize()
    const lost = new Limit()
    const unowned = this.#setup.lost()
    const stopListening = [
      onAbort(unowned, () => lost.abort(unowned.reason)),
      onAbort(signal, () => lost.abort(new CancelledError('the outbox is stopping'))),
    ]
    const runtime = this.#setup.runtime()
    try {
      const end = await deliver(this.#delivery, partition, size, { lost, stopping })
      await this.#finish(guard, end, runtime)
    } catch (error) {
      this.#failed(guard, error)
    } finally {
      for (const stop of stopListening) stop()
    }
    if (size.isNormal) this.#sizes.delete(partition)
    else this.#sizes.set(partition, size)
    return proceed()
  }

  #newSize(): BatchSize {
    const { batchSize, degradeAfter } = this.#handler.tuning
    return new BatchSize(batchSize, degradeAfter)
  }

  async #finish(guard: PartitionGuard, end: DeliveryEnd, runtime: number): Promise<void> {
    const { log, storeNow } = this.#setup
    const { partition } = guard
    if (end.is !== 'drained') this.#unblocked(partition)
    switch (end.is) {
      case 'more':
        return guard.more()
      case 'busy':
        // Its owner looks for more before it gives the partition back.
        return guard.processed()
      case 'lost':
      case 'dead':
        log.warn(
          { topic: this.#topic.name, partition: partition - this.#topic.first },
          'partition lost while messages were delivered; another process may deliver them again',
        )
        if (end.is === 'dead') await this.#setup.onDead(runtime)
        return guard.more()
      case 'drained': {
        if (end.isBlocked) return this.#blocked(guard, end.hadMessages)
        // What was added after the last read, by a transaction that still saw an owner.
        const found = await this.#setup.look(partition)
        if (found.isBlocked) return this.#blocked(guard, end.hadMessages)
        this.#unblocked(partition)
        const dueInMs = end.dueAt === null ? Infinity : Math.max(0, end.dueAt - storeNow())
        return guard.processed(Math.min(dueInMs, found.dueInMs))
      }
    }
  }

  #blocked(guard: PartitionGuard, hadMessages: boolean): void {
    const { clock, log } = this.#setup
    const { partition } = guard
    guard.blocked(hadMessages)
    const since = hadMessages ? undefined : this.#blockedSince.get(partition)
    if (since === undefined) this.#blockedSince.set(partition, clock.now())
    else if (!this.#isBlockReported && clock.now() - since > LONG_BLOCK_MS) {
      // The others mostly wait for the same transaction.
      this.#isBlockReported = true
      log.warn(
        {
          topic: this.#topic.name,
          partition: partition - this.#topic.first,
          partitions: this.#blockedSince.size,
        },
        'partition waits for a transaction that has enqueued a message and is still open',
      )
    }
  }

  #unblocked(partition: number): void {
    this.#blockedSince.delete(partition)
    if (this.#blockedSince.size === 0) this.#isBlockReported = false
  }

  #failed(guard: PartitionGuard, error: unknown): void {
    const { log } = this.#setup
    const { partition } = guard
    if (error instanceof StoreError && error.code === 'closed') return guard.processed()
    const delayMs = guard.failed()
    const data = {
      topic: this.#topic.name,
      partition: partition - this.#topic.first,
      delayMs,
      reason: reasonOf(error),
    }
    log.warn(data, 'delivery failed; retrying')
    log.debug({ ...data, err: error }, 'delivery failed')
  }
}
