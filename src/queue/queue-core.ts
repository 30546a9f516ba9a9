import type { Clock } from '../base/clock.ts'
import { PermitNotify } from '../base/notify.ts'
import type {
  ChangeKind,
  ChangeVerdict,
  PushGroup,
  QueueCounts,
  QueueRecord,
  QueueStore,
  Standing,
} from '../store/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import { OwnDelivery, type Settler } from './delivery.ts'
import { EarlyPushes } from './early-pushes.ts'
import { GroupCommit, type StoredGroup } from './group-commit.ts'
import type { QueueSettings } from './options.ts'
import { fromPayload } from './payloads.ts'
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

/** The moving parts of an open queue: who pushes, changes, takes and waits, and the store. */
export class QueueCore<T> {
  /** Fires with every answer of the store. */
  readonly news = new PermitNotify()
  readonly #setup: QueueSetup<T>
  readonly #settler: Settler<T>
  readonly #takers: Takers<OwnDelivery<T>>
  readonly #commit: GroupCommit<OwnDelivery<T>>
  readonly #watch: Watch
  readonly #early: EarlyPushes | undefined
  #watchers = 0
  #standing: Standing
  #isLooking = false
  #isClosed = false

  /** `settler` is whom deliveries turn to. */
  constructor(setup: QueueSetup<T>, standing: Standing, settler: Settler<T>) {
    const { store, clock, idleClock } = setup
    this.#setup = setup
    this.#standing = standing
    this.#settler = settler
    this.#takers = new Takers(clock)
    this.#watch = new Watch({
      clock,
      idleClock,
      isWaitedFor: () => this.#takers.isWaitedFor || this.#watchers > 0,
      onDue: () => this.#commit.sweep(),
      onLook: () => void this.look(),
    })
    this.#commit = new GroupCommit(
      {
        ...setup,
        takers: this.#takers,
        open: (taken) => this.#open(taken),
        giveBack: (deliveries) => this.giveBack(deliveries),
        onStanding: (latest) => this.#learn(latest),
        onFailure: () => this.#watch.retry(),
      },
      standing,
    )
    if (setup.durability === 'memory') {
      this.#early = new EarlyPushes({
        ...setup,
        reserve: (count) => store.reserve(count),
        push: (group) => this.#commit.push(group),
      })
    }
    this.#watch.plan(standing)
  }

  /** Throws when the queue was closed. */
  checkOpen(operation: string): void {
    if (!this.#isClosed) return
    throw new StoreError('closed', `queue ${operation}`, 'the queue was closed')
  }

  /** Stores a group of messages. */
  push(group: PushGroup): Promise<StoredGroup> {
    // What only the store can judge is not answered before it has.
    const isPlain = group.dedupeKey === null && group.delayMs === 0
    if (this.#early === undefined || !isPlain || this.#setup.capacity !== Infinity) {
      return this.#commit.push(group)
    }
    return this.#early.push(group)
  }

  async take(most: number, wait: ResolvedWait): Promise<readonly OwnDelivery<T>[]> {
    this.checkOpen('take')
    const taken = this.#takers.take(most, wait)
    this.#commit.asked()
    return taken
  }

  /** Gives back what nobody has looked at. */
  giveBack(deliveries: readonly OwnDelivery<T>[]): void {
    // When that fails, their leases end.
    this.change('release', deliveries).catch(() => {})
  }

  /** Does something to messages that are, or were, in somebody's hands, in one commit. */
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

  /** Does something to messages, whoever has them, in one commit; answers to how many. */
  async changeAll(kind: ChangeKind, ids: readonly number[]): Promise<number> {
    this.checkOpen(kind)
    const verdicts = await this.#commit.change(
      ids.map((id) => ({ kind, id, receipt: 0, ms: 0, reason: '' })),
    )
    return verdicts.filter((verdict) => verdict === 'done').length
  }

  /** Sets aside what cannot be decoded. */
  async setAside({ id, receipt }: QueueRecord, error: QueueError): Promise<void> {
    this.#setup.log.error({ id, err: error }, 'a message cannot be decoded and is set aside')
    const reason = error.message
    // When that fails its lease ends, and whoever gets it then sets it aside.
    await this.#commit.change([{ kind: 'set_aside', id, receipt, ms: 0, reason }]).catch(() => {})
  }

  /** How many there are; those not written yet count as ready. */
  get counts(): QueueCounts {
    // Whoever asks again soon gets what others have done meanwhile.
    if (this.#standing.shared) void this.look()
    const { counts } = this.#standing
    return { ...counts, ready: counts.ready + (this.#early?.unwritten ?? 0) }
  }

  /** Waits until nothing is left but dead letters. */
  async drained(signal: AbortSignal): Promise<void> {
    this.#watchers++
    try {
      await this.#early?.written()
      // Others may have pushed since the latest answer.
      await this.look()
      while (this.live > 0 || this.#commit.isBusy) {
        this.checkOpen('drain')
        await this.news.wait(signal)
      }
    } finally {
      this.#watchers--
    }
  }

  /** Messages that are not dead letters. */
  get live(): number {
    const { ready, inFlight, delayed } = this.#standing.counts
    return ready + inFlight + delayed
  }

  async find(id: number): Promise<QueueRecord | undefined> {
    this.checkOpen('get')
    await this.#early?.written()
    return this.#setup.store.find(id)
  }

  /** All records after an id, in order; dead letters alone, if so wished. */
  async *records(): AsyncGenerator<QueueRecord, undefined> {
    await this.#early?.written()
    let after = -1
    for (;;) {
      this.checkOpen('iterate')
      const page = await this.#setup.store.page({ after, limit: PAGE, dead: false })
      yield* page
      if (page.length < PAGE) return
      after = page.at(-1)!.id
    }
  }

  /** Asks the store how the queue stands. */
  async look(): Promise<void> {
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    try {
      this.#commit.learn(await this.#setup.store.look())
    } catch (error) {
      this.#setup.log.debug({ err: error }, 'the queue could not be looked at')
      this.#watch.retry()
    } finally {
      this.#isLooking = false
    }
  }

  /** Does what was asked for, and closes the store. */
  async close(): Promise<void> {
    const closed = new StoreError('closed', 'queue', 'the queue was closed')
    this.#isClosed = true
    this.#watch.stop()
    this.#takers.failAll(closed)
    try {
      await this.#early?.finish()
      await this.#commit.finish(closed)
    } finally {
      this.news.notifyAll()
      await this.#setup.store.close()
    }
  }

  #learn(standing: Standing): void {
    this.#standing = standing
    this.#watch.plan(standing)
    this.news.notifyAll()
  }

  #open(taken: readonly QueueRecord[]): { deliveries: OwnDelivery<T>[]; unreadable: number } {
    const { codec, clock, leaseMs } = this.#setup
    const leaseUntil = clock.now() + leaseMs
    const deliveries: OwnDelivery<T>[] = []
    for (const record of taken) {
      try {
        const data = fromPayload(codec, record)
        deliveries.push(new OwnDelivery(record, data, leaseUntil, this.#settler))
      } catch (cause) {
        void this.setAside(record, unreadable(record.id, cause))
      }
    }
    return { deliveries, unreadable: taken.length - deliveries.length }
  }
}
