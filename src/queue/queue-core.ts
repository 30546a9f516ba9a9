import type { Clock } from '../base/time/clock.ts'
import { PermitNotify } from '../base/sync/notify.ts'
import type {
  ChangeKind,
  ChangeVerdict,
  QueueCounts,
  QueueRecord,
  QueueStore,
  QueueState,
} from '../store/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import { OwnDelivery, type Settler } from './delivery.ts'
import { GroupCommit } from './group-commit.ts'
import type { QueueSettings } from './options.ts'
import { fromPayload } from './payloads.ts'
import type { StoredGroup } from './push-line.ts'
import type { Push } from './push-options.ts'
import { type QueueError, unreadable } from './queue-error.ts'
import { Takers } from './takers.ts'
import type { ResolvedWait } from './wait-options.ts'
import { Watch } from './watch.ts'

/** How many records are read at a time. */
const PAGE = 500

/** What a queue runs on. */
export interface QueueSetup<T> extends QueueSettings<T> {
  readonly store: QueueStore
  readonly clock: Clock
  /** The same time, with timers that do not keep the process alive. */
  readonly idleClock: Clock
  readonly random: () => number
}

/** A record that cannot be decoded. */
export interface Unreadable {
  readonly record: QueueRecord
  readonly error: QueueError
}

/** The parts of an open queue: group commit, takers, watch and the store. */
export class QueueCore<T> {
  /** Fires with every answer of the store. */
  readonly changes = new PermitNotify()
  readonly #setup: QueueSetup<T>
  readonly #settler: Settler<T>
  readonly #takers: Takers<OwnDelivery<T>>
  readonly #commit: GroupCommit<OwnDelivery<T>>
  readonly #watch: Watch
  #watchers = 0
  #queueState: QueueState
  #looking: Promise<void> | undefined
  /** Whether the store did not answer the latest look or sweep. */
  #isFailing = false
  #isClosed = false

  /** Deliveries call `settler`. */
  constructor(setup: QueueSetup<T>, queueState: QueueState, settler: Settler<T>) {
    const { clock, idleClock } = setup
    this.#setup = setup
    this.#queueState = queueState
    this.#settler = settler
    this.#takers = new Takers(clock)
    this.#watch = new Watch({
      clock,
      idleClock,
      isWaitedFor: () => this.#takers.size > 0 || this.#watchers > 0 || this.#commit.waitsForRoom,
      onDue: () => this.#commit.sweep(),
      onLook: () => void this.look(),
    })
    this.#commit = new GroupCommit(
      {
        ...setup,
        takers: this.#takers,
        open: (taken, takenAt) => this.#open(taken, takenAt),
        giveBack: (deliveries) => this.giveBack(deliveries),
        onQueueState: (latest) => this.#learn(latest),
        onFailure: (error, isUnreported) => {
          if (isUnreported) this.#complain(error, 'processing due messages failed; retrying')
          this.#watch.retry()
        },
      },
      queueState,
    )
    setup.meter?.saw(queueState)
    this.#watch.plan(queueState)
  }

  /** Throws when the queue was closed. */
  checkOpen(operation: string): void {
    if (!this.#isClosed) return
    throw new StoreError('closed', `queue ${operation}`, 'the queue was closed')
  }

  /** Stores a group of messages. */
  push(push: Push): Promise<StoredGroup> {
    return this.#commit.push(push)
  }

  /** With `isPrefetching`, all but the first are only prefetched. */
  take(max: number, wait: ResolvedWait, isPrefetching = false): Promise<readonly OwnDelivery<T>[]> {
    this.checkOpen('take')
    const taken = this.#takers.take(max, wait, isPrefetching)
    this.#commit.asked()
    return taken
  }

  /** Returns deliveries that were not used. */
  giveBack(deliveries: readonly OwnDelivery<T>[]): void {
    // When that fails, their leases end.
    this.change('release', deliveries).catch(() => {})
  }

  /** Changes messages that are, or were, in flight, in one commit. */
  change(
    kind: ChangeKind,
    deliveries: readonly OwnDelivery<T>[],
    ms = 0,
    reason = '',
  ): Promise<readonly ChangeVerdict[]> {
    return this.#commit.change(
      deliveries.map(({ id, receipt }) => ({ kind, id, receipt, ms, reason })),
    )
  }

  /** Changes messages in any state, in one commit; returns how many were changed. */
  async changeAll(kind: ChangeKind, ids: readonly number[]): Promise<number> {
    this.checkOpen(kind)
    const verdicts = await this.#commit.change(
      ids.map((id) => ({ kind, id, receipt: 0, ms: 0, reason: '' })),
    )
    return verdicts.filter((verdict) => verdict === 'done').length
  }

  /** Makes dead letters of what cannot be decoded, in one commit. */
  async makeDeadLetter(bad: readonly Unreadable[]): Promise<void> {
    if (bad.length === 0) return
    const [{ record, error }] = bad as readonly [Unreadable]
    const data = { id: record.id, count: bad.length, err: error }
    this.#setup.log.error(
      data,
      'messages cannot be decoded and become dead letters; this is the first',
    )
    const changes = bad.map(({ record: { id, receipt }, error: { message } }) => {
      return { kind: 'dead_letter' as const, id, receipt, ms: 0, reason: message }
    })
    // When that fails their leases end, and the next delivery retries.
    await this.#commit.change(changes).catch(() => {})
  }

  /** How many there are. */
  get counts(): QueueCounts {
    // A call that follows soon sees what other processes have done meanwhile.
    if (this.#queueState.shared) void this.look()
    return this.#queueState.counts
  }

  /** Waits until nothing is left but dead letters. */
  async drained(signal: AbortSignal): Promise<void> {
    this.#watchers++
    try {
      // Others may have pushed since the latest answer, or since a look that is under way began.
      await this.#looking
      await this.look()
      while (this.live > 0 || this.#commit.isBusy || this.#isFailing) {
        this.checkOpen('drain')
        await this.changes.wait(signal)
      }
    } finally {
      this.#watchers--
    }
  }

  /** Messages that are not dead letters. */
  get live(): number {
    const { ready, inFlight, delayed } = this.#queueState.counts
    return ready + inFlight + delayed
  }

  async find(id: number): Promise<QueueRecord | undefined> {
    this.checkOpen('get')
    return this.#setup.store.find(id)
  }

  /** All records, in the order of ids, page by page. */
  async *pages(): AsyncGenerator<readonly QueueRecord[], undefined> {
    let after = -1
    for (;;) {
      this.checkOpen('iterate')
      // A page of large records may be shorter than it might be: the last one is empty.
      const page = await this.#setup.store.page({ after, limit: PAGE, dead: false })
      if (page.length === 0) return
      yield page
      after = page.at(-1)!.id
    }
  }

  /** Reads the state of the queue; calls at the same time share the answer. */
  look(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  /** Does what was asked for, and closes the store. */
  async close(): Promise<void> {
    const closed = new StoreError('closed', 'queue', 'the queue was closed')
    this.#isClosed = true
    this.#watch.stop()
    this.#takers.failAll(closed)
    try {
      await this.#commit.finish(closed)
    } finally {
      this.changes.notifyAll()
      await this.#setup.store.close()
    }
  }

  async #look(): Promise<void> {
    try {
      this.#commit.learn(await this.#setup.store.look())
    } catch (error) {
      if (this.#isClosed) return
      this.#complain(error, 'reading the state of the queue failed; retrying')
      this.#watch.retry()
    }
  }

  // Said once, until the store answers again.
  #complain(error: unknown, message: string): void {
    if (!this.#isFailing) this.#setup.log.warn({ err: error }, message)
    this.#isFailing = true
  }

  #learn(queueState: QueueState): void {
    this.#isFailing = false
    this.#queueState = queueState
    this.#setup.meter?.saw(queueState)
    this.#watch.plan(queueState)
    this.changes.notifyAll()
  }

  #open(taken: readonly QueueRecord[], takenAt: number): readonly OwnDelivery<T>[] {
    const { codec, leaseMs } = this.#setup
    const times = { takenAt, leaseMs }
    const deliveries: OwnDelivery<T>[] = []
    const bad: Unreadable[] = []
    for (const record of taken) {
      try {
        const data = fromPayload(codec, record)
        deliveries.push(new OwnDelivery(record, data, times, this.#settler))
      } catch (cause) {
        bad.push({ record, error: unreadable(record.id, cause) })
      }
    }
    void this.makeDeadLetter(bad)
    return deliveries
  }
}
