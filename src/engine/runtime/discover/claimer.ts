import { notify } from '../../../base/sync/notify.ts'
import type { Claim, CachedInstance } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import { readAgain } from '../../core/resend.ts'
import type { Capacity } from '../schedule/capacity.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import type { HintExchange } from './hint-exchange.ts'
import { LimitKeys } from './limit-keys.ts'
import type { MailReader } from './mail-reader.ts'
import type { Registration } from './registration.ts'

// A few dozen at a time, so that one process does not claim the whole backlog.
const MAX_AT_ONCE = 64
// How often to retry instances that are due but locked by another transaction.
const LOCKED_MS = 1_000
// The shortest wait for what is due next, even when the clocks disagree.
const MIN_WAIT_MS = 10
const MAX_HINTED = 10_000
// What is owned is compared with the store at the next tick after something was in doubt, then after
// the first of these, and after twice as long each time. It reads all unfinished instances: see
// owned.sql.
const FIRST_COMPARISON_MS = 10_000
const LAST_COMPARISON_MS = 3_600_000

/** Takes on what was claimed, and knows what is owned. */
export interface ClaimTaker {
  /** The instances that are stored and not being changed at this moment. */
  waiting(): readonly CachedInstance[]
  /** Drops those of them that are not among what the store says is owned. */
  dropLost(waiting: readonly CachedInstance[], owned: readonly Claim[]): void
  /** Resumes what that runtime owns, unless it was declared dead meanwhile. */
  takeOn(runtime: number, claims: readonly Claim[]): Promise<void>
}

/** Claims instances that are due, and finds those that this runtime owns without knowing. */
export class Claimer {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #capacity: Capacity
  readonly #instances: LiveInstances
  readonly #hints: HintExchange
  readonly #limitKeys: LimitKeys
  readonly #wake = notify()
  readonly #hinted = new Set<Iid>()
  readonly #dueAlarm = { ring: () => this.#claimDue() }
  #taker!: ClaimTaker
  #mail!: Pick<MailReader, 'look'>
  #mustCompare = false
  /** Instances that left after the store was asked what is owned: its answer may still contain them. */
  #leftMeanwhile: Set<Iid> | undefined
  #comparesEveryMs = LAST_COMPARISON_MS
  #comparedMs: number
  #isFull = false

  constructor(
    core: RuntimeCore,
    registration: Registration,
    capacity: Capacity,
    instances: LiveInstances,
    hints: HintExchange,
  ) {
    this.#core = core
    this.#registration = registration
    this.#capacity = capacity
    this.#instances = instances
    this.#hints = hints
    this.#limitKeys = new LimitKeys(core)
    this.#comparedMs = core.clock.now()
  }

  reportTo(taker: ClaimTaker, mail: Pick<MailReader, 'look'>): void {
    this.#taker = taker
    this.#mail = mail
  }

  /** Claims now, because there may be something. */
  wake(): void {
    this.#wake.notifyOne()
  }

  /** There may be something to claim at this moment of store time. */
  claimAt(at: number): void {
    if (!this.#core.closing.aborted) this.#core.alarms.set(this.#dueAlarm, at)
  }

  /** Something is due now. Without a free slot, asks other runtimes to take it. */
  #claimDue(): void {
    this.wake()
    if (this.#capacity.free <= 0) this.#hints.tellOverflow()
  }

  /** These may be claimable now. */
  hint(iids: readonly Iid[]): void {
    // A runtime without workflows claims nothing, and would keep them forever.
    if (this.#registration.workflows.length === 0) return
    // They accumulate while no slot is free. The tick finds those that are left out.
    for (const iid of iids) if (this.#hinted.size < MAX_HINTED) this.#hinted.add(iid)
    this.#wake.notifyOne()
  }

  /** An instance has left: there is a free slot for another one. */
  left(iid: Iid): void {
    this.#leftMeanwhile?.add(iid)
    if (this.#isFull) this.#wake.notifyOne()
  }

  /** This runtime may own something it does not know of: compares now. */
  reconcile(): void {
    this.#mustCompare = true
    this.#wake.notifyOne()
  }

  /**
   * Compares later: what was sent over a lost connection may still reach the store.
   */
  doubt(): void {
    this.#comparesEveryMs = 0
  }

  /** Compares if that is due. Called every few seconds. */
  tick(): void {
    if (this.#core.clock.now() - this.#comparedMs >= this.#comparesEveryMs) this.reconcile()
  }

  work(): Worker {
    const { clock, log } = this.#core
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 100, max: 5_000 }
    return worker('claims', { wakeOn: [this.#wake], clock, log, pacing, backoff }, () =>
      this.#pass(),
    )
  }

  async #pass(): Promise<Directive> {
    try {
      return await this.#claim()
    } catch (error) {
      // The claim may have succeeded nevertheless, or may still succeed.
      this.#mustCompare = true
      this.doubt()
      throw error
    }
  }

  async #claim(): Promise<Directive> {
    const { store, clock, time } = this.#core
    if (this.#mustCompare) await this.#compareOrRetry()
    this.#readOwnMail()
    const limit = Math.min(this.#capacity.free, MAX_AT_ONCE)
    const { workflows } = this.#registration
    this.#isFull = limit <= 0
    if (this.#isFull || workflows.length === 0) return idle()
    const runtime = this.#registration.number
    const hinted = [...this.#hinted]
    this.#hinted.clear()
    const askedMs = clock.now()
    const answer = await store.claim({ runtime, workflows, limit, hinted })
    time.saw(answer.clock, askedMs)
    if (answer.state === 'dead') {
      await this.#registration.onDead(runtime)
      return proceed()
    }
    const { claims, passed, unkeyed = [], hasMore = false } = answer
    if (passed.length > 0) this.#hints.announce({ kind: 'due', iids: passed })
    if (answer.nextDue !== null) this.#claimIn(answer.nextDue - answer.clock)
    if (claims.length > 0) await this.#takeOn(runtime, claims)
    const hasKeys = unkeyed.length > 0 && (await this.#limitKeys.compute(unkeyed))
    if (claims.length === 0 && passed.length > 0) return proceed()
    return hasKeys || hasMore || claims.length + passed.length === limit ? proceed() : idle()
  }

  /** An instance that a hint named while it was claimed and read: no claim would find it. */
  #readOwnMail(): void {
    const own = [...this.#hinted].filter((iid) => this.#instances.get(iid) !== undefined)
    for (const iid of own) this.#hinted.delete(iid)
    if (own.length > 0) this.#mail.look(own)
  }

  #takeOn(runtime: number, claims: readonly Claim[]): Promise<void> {
    this.#hints.found(claims.length)
    return this.#taker.takeOn(runtime, claims)
  }

  /** Claims do not wait for it: reading a large table may exceed the statement timeout. */
  async #compareOrRetry(): Promise<void> {
    // Before it begins: what comes into doubt meanwhile needs another one.
    this.#mustCompare = false
    try {
      await this.#compare()
    } catch (error) {
      this.#core.log.warn({ err: error }, 'could not read which instances are owned; retrying')
      this.doubt()
    }
    this.#comparedMs = this.#core.clock.now()
    const nextMs = Math.max(2 * this.#comparesEveryMs, FIRST_COMPARISON_MS)
    this.#comparesEveryMs = Math.min(nextMs, LAST_COMPARISON_MS)
  }

  /** Here, and not in the tick, because no claim is under way now that could look lost. */
  async #compare(): Promise<void> {
    const runtime = this.#registration.number
    const waiting = this.#taker.waiting()
    const leftMeanwhile = (this.#leftMeanwhile = new Set())
    const { clock, closing, store } = this.#core
    const owned = await readAgain(clock, closing, () => store.owned(runtime)).finally(() => {
      this.#leftMeanwhile = undefined
    })
    this.#taker.dropLost(waiting, owned)
    const isUnknown = ({ iid }: Claim): boolean =>
      this.#instances.get(iid) === undefined && !leftMeanwhile.has(iid)
    await this.#takeOn(runtime, owned.filter(isUnknown))
  }

  /**
   * Claims after a wait, not at the moment that the store named: when the store's clock has jumped back,
   * that moment may seem to have passed, and the store would be asked again and again.
   */
  #claimIn(dueInMs: number): void {
    const waitMs = dueInMs > 0 ? Math.max(dueInMs, MIN_WAIT_MS) : LOCKED_MS
    this.claimAt(this.#core.time.now() + waitMs)
  }
}
