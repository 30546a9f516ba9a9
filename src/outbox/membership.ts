import type { Logger } from '../base/log.ts'
import type { Clock, Timer } from '../base/time/clock.ts'
import { GIVE_UP_MS } from '../store/lease-keeper.ts'
import type { OutboxStore, OutboxTick } from '../store/outbox-store.ts'
import type { WorkflowStore } from '../store/workflow-store.ts'
import { LoopHeartbeat } from '../watchdog/loop-heartbeat.ts'

/** How long other processes wait for a sign of life before they take over partitions. */
export const LEASE_MS = 30_000

const LEAVE_MS = 5_000

/** What a membership is made with. */
export interface MembershipSetup {
  readonly clock: Clock
  readonly log: Logger
  readonly info: string
  readonly leaseMs?: number
}

/**
 * This process as the store knows it: a runtime that owns partitions. Its number is registered, kept alive
 * by ticks, and replaced when others declared it dead. While the event loop is blocked, a thread of the store
 * keeps it alive.
 */
export class Membership {
  readonly #store: WorkflowStore
  readonly #outbox: OutboxStore
  readonly #clock: Clock
  readonly #log: Logger
  readonly #info: string
  readonly #leaseMs: number
  readonly #heartbeat: LoopHeartbeat
  #number = 0
  #lost = new AbortController()
  #offsetMs: number | undefined
  #returning: Promise<void> | undefined
  #isOver = false

  constructor(
    store: WorkflowStore,
    outbox: OutboxStore,
    { clock, log, info, leaseMs = LEASE_MS }: MembershipSetup,
  ) {
    this.#store = store
    this.#outbox = outbox
    this.#clock = clock
    this.#log = log
    this.#info = info
    this.#leaseMs = leaseMs
    this.#heartbeat = new LoopHeartbeat({ log, leaseMs, giveUpMs: GIVE_UP_MS, onHang: 'release' })
    // Another server may lack the latest writes: nothing that was read from the old one is valid.
    store.onPromotion?.(() => void this.onDead(this.#number).catch(() => {}))
  }

  /** The number under which the store knows this process at present. */
  get number(): number {
    return this.#number
  }

  /** Aborts when everything that this process owned is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** The store's time, as far as it is known. */
  get now(): number {
    return this.#offsetMs === undefined
      ? this.#clock.date().getTime()
      : Math.round(this.#clock.now() + this.#offsetMs)
  }

  /** The store has answered with its time. */
  saw(clock: number): void {
    if (clock > 0) this.#offsetMs = clock - this.#clock.now()
  }

  async register(): Promise<void> {
    const askedMs = this.#clock.now()
    const registered = await this.#store.register({
      leaseMs: this.#leaseMs,
      workflows: [],
      info: this.#info,
    })
    const isFirst = this.#number === 0
    this.#number = registered.runtime
    this.#heartbeat.shared.runtime = registered.runtime
    this.#renewed(askedMs, registered.clock)
    if (isFirst) this.#heartbeat.start(this.#store)
  }

  /** Renews the lease. Returns what there is to do, or nothing when this process has a new number. */
  async tick(): Promise<OutboxTick | undefined> {
    const number = this.#number
    const askedMs = this.#clock.now()
    const answer = await this.#outbox.tick(number, this.#leaseMs)
    if (answer.state === 'ok') {
      this.#renewed(askedMs, answer.clock)
      return answer
    }
    this.saw(answer.clock)
    await this.onDead(number)
    return undefined
  }

  #renewed(askedMs: number, clock: number): void {
    this.saw(clock)
    this.#heartbeat.renewed(this.#clock.now() - askedMs)
  }

  /** It was declared dead under that number: resolves when it has another one. */
  async onDead(number: number): Promise<void> {
    if (number !== this.#number || this.#isOver || number === 0) return
    await (this.#returning ??= this.#startOver().finally(() => (this.#returning = undefined)))
  }

  async #startOver(): Promise<void> {
    this.#log.error(
      { runtime: this.#number },
      'outbox lost its partitions because its lease expired; re-registering under a new number',
    )
    const lost = this.#lost
    this.#lost = new AbortController()
    lost.abort(new Error('the lease of this process expired'))
    await this.register()
  }

  /** Gives everything back that this process still owns. */
  async leave(): Promise<void> {
    this.#isOver = true
    if (this.#number === 0) return
    try {
      await this.#unregister()
    } finally {
      await this.#heartbeat.stop()
    }
  }

  async #unregister(): Promise<void> {
    // A handler that hangs in a transaction keeps the store from it: then others wait for the lease.
    const isLeft = this.#store.unregister(this.#number).then(() => true)
    let timer: Timer | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = this.#clock.after(LEAVE_MS, () => resolve(false))
    })
    try {
      if (await Promise.race([isLeft, late])) return
      isLeft.catch(() => {})
      this.#log.warn(
        { runtime: this.#number },
        'could not give partitions back in time; others take over when the lease has expired',
      )
    } finally {
      timer?.cancel()
    }
  }
}
