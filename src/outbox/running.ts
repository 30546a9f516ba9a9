import { hostname } from 'node:os'
import { Batcher } from '../base/sync/batcher.ts'
import { Throttle } from '../base/time/throttle.ts'
import { VERSION } from '../base/version.ts'
import type { ClientAccess } from '../store/client-access.ts'
import type { HintSubscription } from '../store/hints.ts'
import type {
  NewMessage,
  OutboxStore,
  PartitionWork,
  Step,
  StepAnswer,
  TopicRow,
} from '../store/outbox-store.ts'
import { isRejected } from '../store/store-error.ts'
import { idle } from '../workers/directive.ts'
import { supervise, type Supervisor } from '../workers/supervisor.ts'
import { worker } from '../workers/worker.ts'
import type { ResolvedHandler } from './handle-options.ts'
import { LeaseEnds } from './lease-ends.ts'
import { Maintenance } from './maintenance.ts'
import { OutboxMeter } from './meter.ts'
import { LEASE_MS, Membership } from './membership.ts'
import type { OutboxTotals } from './outbox.ts'
import { type LookAnswer, TopicRunner } from './topic-runner.ts'
import { OutboxTracer } from './tracer.ts'
import { Wakefulness } from './wakefulness.ts'

const TICK_MS = LEASE_MS / 3
const OVERFLOW_MS = 50
const MAX_SHARED = 256
// Of the time of a stop: after four fifths of it signals abort, and what was handled has to be recorded.
const GRACE = 0.15

/** Everything that runs between `start` and `stop` of an outbox. */
export class Running {
  supervisor: Supervisor | undefined
  listening: HintSubscription | undefined
  readonly #access: ClientAccess
  readonly #store: OutboxStore
  readonly #membership: Membership
  readonly #maintenance: Maintenance
  readonly #steps: Batcher<Step, StepAnswer>
  readonly #looks: Batcher<number, PartitionWork | undefined>
  readonly #totals: Mutable<OutboxTotals>
  #runners: readonly TopicRunner[] = []
  #wakefulness: Wakefulness | undefined
  #topics: readonly number[] = []
  #isStopped = false
  #graceMs = Infinity
  readonly #overflow: Throttle
  readonly #leaseEnds: LeaseEnds

  constructor(
    access: ClientAccess,
    store: OutboxStore,
    keep: { readonly keysMs: number; readonly lettersMs: number },
    totals: Mutable<OutboxTotals>,
  ) {
    const { clock, log } = access
    this.#access = access
    this.#store = store
    this.#overflow = new Throttle(clock, () => this.#shareOverflow())
    this.#leaseEnds = new LeaseEnds(clock, TICK_MS)
    this.#totals = totals
    this.#membership = new Membership(access.store, store, {
      clock,
      log,
      info: `${hostname()} ${process.pid} ${VERSION}`,
    })
    this.#maintenance = new Maintenance({
      store,
      clock,
      log,
      keep,
      storeNow: () => this.#membership.now,
      saw: (storeClock) => this.#membership.saw(storeClock),
      added: (partitions) => this.mark(partitions),
    })
    const takeSteps = async (steps: readonly Step[]): Promise<readonly StepAnswer[]> => {
      const { clock: storeClock, answers } = await store.steps(this.#membership.number, steps)
      this.#membership.saw(storeClock)
      return answers
    }
    this.#steps = new Batcher(takeSteps, { splitsOn: isRejected })
    this.#looks = new Batcher(async (partitions) => {
      const { clock: storeClock, work } = await store.look(partitions)
      this.#membership.saw(storeClock)
      const found = new Map(work.map((one) => [one.partition, one]))
      return partitions.map((partition) => found.get(partition))
    })
  }

  async start(
    topics: readonly { readonly row: TopicRow; readonly handler: ResolvedHandler }[],
  ): Promise<void> {
    const { clock, log, decode, metrics, tracing } = this.#access
    const meter = metrics && new OutboxMeter(metrics, log)
    const tracer = tracing && new OutboxTracer(tracing, log)
    const membership = this.#membership
    this.#topics = topics.map(({ row }) => row.topic)
    await membership.register()
    this.#runners = topics.map(
      ({ row, handler }) =>
        new TopicRunner(
          {
            clock,
            log,
            decode,
            meter,
            tracer,
            store: this.#store,
            step: (step) => this.#steps.call(step),
            runtime: () => membership.number,
            storeNow: () => membership.now,
            lost: () => membership.lost,
            graceMs: () => this.#graceMs,
            onDead: (runtime) => membership.onDead(runtime),
            look: (partition) => this.#look(partition),
            count: ({ delivered, expired, retries, dead }) => {
              this.#totals.delivered += delivered
              this.#totals.expired += expired
              this.#totals.retried += retries.length
              this.#totals.dead += dead.length
              this.#maintenance.done(delivered + expired + dead.length)
            },
          },
          row,
          handler,
        ),
    )
    const ticker = worker(
      'outbox ticks',
      { every: TICK_MS, wakeOn: [this.#leaseEnds.tickNow], clock, log },
      async () => {
        await this.#tick()
        return idle()
      },
    )
    this.#wakefulness = new Wakefulness({
      store: this.#store,
      clock,
      log,
      topics: this.#topics,
      storeNow: () => membership.now,
      look: () => this.#lookEverywhere(),
    })
    this.supervisor = supervise(
      [
        ticker,
        this.#wakefulness.worker,
        ...this.#maintenance.workers,
        ...this.#runners.flatMap(({ workers }) => workers),
      ],
      { log, clock },
    )
    // Listening begins before the first poll: nothing that is enqueued in between is missed.
    this.listening = this.#store.listen({
      clock,
      log,
      onMessages: (partitions, at) => this.#onMessages(partitions, at),
      look: () => this.#tick(),
    })
    await this.#tick()
    this.#maintenance.removeNow()
  }

  /** Whether a partition is being delivered. */
  get isDelivering(): boolean {
    return this.#runners.some(({ dirty }) => dirty.claimed > 0)
  }

  /** There may be messages in these partitions. */
  mark(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#runners.find((runner) => runner.has(partition))?.dirty.mark(partition)
    }
  }

  /** There may be messages anywhere. */
  lookNow(): void {
    // The tick reports what is wrong with the store, and finds what this would have found.
    void this.#lookEverywhere().catch(() => {})
  }

  /** This process has committed these messages. */
  added(messages: readonly NewMessage[]): void {
    for (const { partition, delayMs } of messages) {
      if (delayMs > 0) this.#maintenance.dueAt(this.#membership.now + delayMs)
      else this.mark([partition])
    }
  }

  async stop(within: number): Promise<void> {
    this.#isStopped = true
    this.#graceMs = within * GRACE
    await this.supervisor?.stop({ within })
    for (const runner of this.#runners) runner.dirty.close()
    this.#maintenance.close()
    this.#leaseEnds.close()
    this.#overflow.cancel()
    await this.listening?.close()
    // Others deliver from now on: nothing keeps them from being notified.
    if (this.#wakefulness?.isAwake === true) {
      await unlessItFails(() => this.#store.stayAwake?.(this.#topics, 0))
    }
    await this.#membership.leave()
    // Only now: until then they would find partitions that have an owner.
    await unlessItFails(() => this.#store.wakeOthers?.([]))
  }

  #onMessages(partitions: readonly number[], at: number): void {
    if (at > 0) return this.#maintenance.dueAt(at)
    if (partitions.length === 0) return this.lookNow()
    const isHandled = this.#runners.some((runner) => partitions.some((one) => runner.has(one)))
    if (!isHandled) return
    this.#wakefulness?.notified()
    this.mark(partitions)
  }

  /** Renews the lease and looks everywhere. Returns whether there was something to do. */
  async #tick(): Promise<boolean> {
    const answer = await this.#membership.tick()
    if (answer === undefined) return this.#isStopped ? false : this.#tick()
    this.#leaseEnds.ticked(this.#membership.number, answer)
    this.#found(answer.work, answer.clock)
    if (answer.delayedAt !== null) this.#maintenance.dueAt(answer.delayedAt)
    return answer.work.length > 0
  }

  async #lookEverywhere(): Promise<boolean> {
    const { clock, work } = await this.#store.look(null)
    this.#membership.saw(clock)
    return this.#found(work, clock)
  }

  /** Marks partitions that there is something to do for. Returns whether there was any. */
  #found(work: readonly PartitionWork[], clock: number): boolean {
    let isAny = false
    for (const { partition, dueAt, isBlocked } of work) {
      const runner = this.#runners.find((one) => one.has(partition))
      if (runner === undefined) continue
      // What only waits for a time or a transaction is no reason to stay awake.
      if (!isBlocked && dueAt !== null && dueAt <= clock) isAny = true
      if (isBlocked) runner.dirty.markBlocked(partition)
      else runner.dirty.mark(partition, (dueAt ?? 0) - clock)
    }
    if (isAny && this.#wakefulness?.isAwake === true) this.#overflow.request(OVERFLOW_MS)
    return isAny
  }

  /** While this process stays awake, others are not notified: it tells them of what it has no room for. */
  #shareOverflow(): void {
    const partitions = this.#runners.flatMap((runner) => runner.overflow())
    if (partitions.length === 0) return
    // A lost notification costs time, never a message.
    void this.#store.wakeOthers?.(partitions.slice(0, MAX_SHARED)).catch(() => {})
  }

  async #look(partition: number): Promise<LookAnswer> {
    // The polls of a process that stays awake find it.
    if (this.#wakefulness?.isAwake === true) return { isBlocked: false, dueInMs: Infinity }
    const work = await this.#looks.call(partition)
    if (work === undefined) return { isBlocked: false, dueInMs: Infinity }
    return {
      isBlocked: work.isBlocked,
      dueInMs: Math.max(0, (work.dueAt ?? 0) - this.#membership.now),
    }
  }
}

/** What this would tell others, their ticks find as well. */
async function unlessItFails(tell: () => Promise<unknown> | undefined): Promise<void> {
  try {
    await tell()
  } catch {
    // It was a hint.
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
