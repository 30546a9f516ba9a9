import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { Claim, Standing } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'

// A few dozen at a time: one process must not swallow the backlog of all.
const MOST_AT_ONCE = 64
// What is due and cannot be had, because somebody has it locked, is tried for so often at the most.
const IN_VAIN_MS = 1_000
// So long it waits for what is due next at the least, whatever the clocks say.
const SHORTEST_WAIT_MS = 10
const MAX_HINTED = 10_000
// What is owned is compared with the store at the next beat after something was in doubt, then after
// so long, and after twice as long each time. It reads all unfinished instances: see owned.sql.
const SOONEST_COMPARISON_MS = 10_000
const LATEST_COMPARISON_MS = 3_600_000

/** What the claimer needs of its runtime. */
export interface ClaimHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  runtimeNumber(): number
  workflowNumbers(): readonly number[]
  freeInstances(): number
  owns(iid: Iid): boolean
  /** The copies that are recorded and not being changed at this moment. */
  held(): readonly Standing[]
  /** Drops those of them that the store says somebody else has, or nobody. */
  dropLost(held: readonly Standing[], owned: readonly Claim[]): void
  /** An answer carried the store's time; it was asked for at `askedMs` of the process's clock. */
  sawTime(ms: number, askedMs: number): void
  onDead(runtime: number): Promise<void>
  /** Goes on with what that runtime owns, unless it was declared dead meanwhile. */
  takeOn(runtime: number, claims: readonly Claim[]): Promise<void>
  /** These are for others, which have the version that they were given. */
  passOn(iids: readonly Iid[]): void
  /** These are owned here, and may have mail that was not there yet when they were read. */
  readMail(iids: readonly Iid[]): void
  /** Something is to be claimed after that time. */
  claimIn(ms: number): void
}

/** Takes ownership of instances that are due, and finds those it owns without knowing. */
export class Claimer {
  readonly #host: ClaimHost
  readonly #wake = notify()
  readonly #hinted = new Set<Iid>()
  #reconcile = false
  /** What left since the store was asked what is owned: the answer may be older than that. */
  #leftMeanwhile: Set<Iid> | undefined
  #comparesEveryMs = LATEST_COMPARISON_MS
  #comparedMs: number
  #full = false

  constructor(host: ClaimHost) {
    this.#host = host
    this.#comparedMs = host.clock.now()
  }

  /** Something may be there to be claimed. */
  wake(): void {
    this.#wake.notifyOne()
  }

  /** These may be there to be claimed. */
  hint(iids: readonly Iid[]): void {
    // Who has no workflows claims nothing, and would keep them for ever.
    if (this.#host.workflowNumbers().length === 0) return
    // While there is no room they pile up. The tick finds those that are left out.
    for (const iid of iids) if (this.#hinted.size < MAX_HINTED) this.#hinted.add(iid)
    this.#wake.notifyOne()
  }

  /** An instance has left: there is room for another one. */
  left(iid: Iid): void {
    this.#leftMeanwhile?.add(iid)
    if (this.#full) this.#wake.notifyOne()
  }

  /** This runtime may own something it does not know of. */
  reconcile(): void {
    this.#reconcile = true
    this.#wake.notifyOne()
  }

  /**
   * The same, but it is not known yet, or not for long: what was sent over a connection that is gone
   * may still reach the store.
   */
  doubt(): void {
    this.#comparesEveryMs = 0
  }

  /** Called every few seconds. */
  beat(): void {
    if (this.#host.clock.now() - this.#comparedMs >= this.#comparesEveryMs) this.reconcile()
  }

  work(): Worker {
    const { clock, log } = this.#host
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
      // Something may have been claimed all the same, or will be.
      this.#reconcile = true
      this.doubt()
      throw error
    }
  }

  async #claim(): Promise<Directive> {
    const host = this.#host
    if (this.#reconcile)
      await this.#compare().catch((error: unknown) => this.#comparedInVain(error))
    this.#readOwnMail()
    const limit = Math.min(host.freeInstances(), MOST_AT_ONCE)
    const workflows = host.workflowNumbers()
    this.#full = limit <= 0
    if (this.#full || workflows.length === 0) return idle()
    const runtime = host.runtimeNumber()
    const hinted = [...this.#hinted]
    this.#hinted.clear()
    const askedMs = host.clock.now()
    const answer = await host.store.claim({ runtime, workflows, limit, hinted })
    host.sawTime(answer.clock, askedMs)
    if (answer.state === 'dead') {
      await host.onDead(runtime)
      return proceed()
    }
    const { passed } = answer
    if (passed.length > 0) host.passOn(passed)
    if (answer.nextDue !== null) this.#waitFor(answer.nextDue - answer.clock)
    if (answer.claims.length === 0) return passed.length > 0 ? proceed() : idle()
    await host.takeOn(runtime, answer.claims)
    return answer.claims.length + passed.length === limit ? proceed() : idle()
  }

  /** What a hint came for while it was claimed and read is owned by now: no claim would find it. */
  #readOwnMail(): void {
    const own = [...this.#hinted].filter((iid) => this.#host.owns(iid))
    for (const iid of own) this.#hinted.delete(iid)
    if (own.length > 0) this.#host.readMail(own)
  }

  /** Here, and not in the tick, because no claim is under way now that could look lost. */
  async #compare(): Promise<void> {
    const host = this.#host
    const number = host.runtimeNumber()
    const held = host.held()
    const leftMeanwhile = (this.#leftMeanwhile = new Set())
    const owned = await host.store.owned(number)
    this.#leftMeanwhile = undefined
    host.dropLost(held, owned)
    await host.takeOn(
      number,
      owned.filter(({ iid }) => !host.owns(iid) && !leftMeanwhile.has(iid)),
    )
    this.#compared()
  }

  /** What can be claimed does not wait for it: reading a large table may take longer than a role may. */
  #comparedInVain(error: unknown): void {
    this.#host.log.warn({ err: error }, 'could not read which instances are owned; trying again')
    this.doubt()
    this.#compared()
  }

  #compared(): void {
    this.#reconcile = false
    this.#comparedMs = this.#host.clock.now()
    const nextMs = Math.max(2 * this.#comparesEveryMs, SOONEST_COMPARISON_MS)
    this.#comparesEveryMs = Math.min(nextMs, LATEST_COMPARISON_MS)
  }

  /**
   * By the process's own clock: when the store's was set back, it may take what is not due yet for due,
   * and would ask again and again.
   */
  #waitFor(dueInMs: number): void {
    this.#host.claimIn(dueInMs > 0 ? Math.max(dueInMs, SHORTEST_WAIT_MS) : IN_VAIN_MS)
  }
}
