// The identity of a runtime: the number under which the store knows it, its lease, and how it registers
// again when that number is no longer valid.
//
//   - A number that was declared dead is never used again. What was done under it belongs to other
//     runtimes: cached instances are dropped before there is a new number.
//   - Several loops may learn of the same death. The first one handles it, the others wait.
//   - A runtime that was closed on purpose does not come back.

import type { Iid } from '../../../store/instances.ts'
import type { LoopHeartbeat } from '../../../watchdog/loop-heartbeat.ts'
import type { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import type { RegisterRequest } from '../../../store/runtimes.ts'
import { StoreError } from '../../../store/store-error.ts'
import { untilAnswered } from '../../core/resend.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Identity } from '../schedule/committer.ts'
import { Lease } from './lease.ts'
import type { Comparison } from './ownership.ts'

/** What a runtime owns, and how it loses that with its registration. */
export interface OwnershipLosses {
  /** Another runtime has taken over: everything that is stored belongs to others. */
  takenOver(): void
  /** The database may have lost the latest writes. Returns how many instances were owned. */
  rolledBack(): number
  /** The lease had expired and no runtime took over, but others may have changed instances. */
  leaseLapsed(): Promise<void>
  /** The server restarted or was replaced: drops instances that it does not have as they are here. */
  serverChanged(): Promise<Comparison>
}

/** Looks for work again, under a new number. */
export interface WorkSearch {
  lookAgain(): void
}

/** The identity of a runtime, from its registration to its end. */
export class Registration {
  readonly lease: Lease
  readonly #core: RuntimeCore
  readonly #shared: SharedLoopHeartbeat
  readonly #numbers: WorkflowNumbers
  readonly #request: RegisterRequest
  #losses!: OwnershipLosses
  #search!: WorkSearch
  #identity: Identity = { runtime: 0, server: '' }
  /** It was closed on purpose. */
  #isOver = false
  #dead = 0
  #rollBacks = 0
  #returning: Promise<void> | undefined

  constructor(
    core: RuntimeCore,
    loop: Pick<LoopHeartbeat, 'shared' | 'renewed' | 'isKept'>,
    numbers: WorkflowNumbers,
    request: RegisterRequest,
  ) {
    this.lease = new Lease(core.clock, loop, request.leaseMs)
    this.#core = core
    this.#shared = loop.shared
    this.#numbers = numbers
    this.#request = request
  }

  /** Connects services that are built later and follow changes of the registration. */
  reportTo(losses: OwnershipLosses, search: WorkSearch): void {
    this.#losses = losses
    this.#search = search
  }

  get identity(): Identity {
    return this.#identity
  }

  /** The number under which the store knows this runtime at present. */
  get number(): number {
    return this.#identity.runtime
  }

  /** The numbers of the workflows that are registered here. */
  get workflows(): readonly number[] {
    return this.#numbers.registered
  }

  /** How often the database may have lost the latest writes. */
  get rollBacks(): number {
    return this.#rollBacks
  }

  async register(): Promise<void> {
    const { store, clock, time, registry } = this.#core
    const askedMs = clock.now()
    const askedDateMs = clock.date().getTime()
    const registered = await store.register(this.#request)
    this.#identity = { runtime: registered.runtime, server: registered.server }
    time.saw(registered.clock, askedMs)
    this.lease.renewed(askedMs, askedDateMs)
    this.#shared.runtime = registered.runtime
    this.#numbers.learn(registry, registered.workflows)
  }

  /** Renews the lease. False when this runtime was declared dead: it has a new number then. */
  async renewLease(): Promise<boolean> {
    const { store, clock, time } = this.#core
    const askedMs = clock.now()
    const askedDateMs = clock.date().getTime()
    const runtime = this.number
    const answer = await store.renewLease(runtime, this.lease.ms)
    this.lease.answered()
    time.saw(answer.clock, askedMs)
    if (answer.state === 'dead') {
      await this.onDead(runtime)
      return false
    }
    // While this process was frozen, others may have suspended instances or taken them over.
    if (!this.lease.isValid) await this.#losses.leaseLapsed()
    this.lease.renewed(askedMs, askedDateMs)
    return true
  }

  /**
   * Unregisters and frees everything it owns. Throws when the store does not answer in time: then other
   * runtimes take over when the lease expires.
   */
  async unregister(withinMs: number): Promise<void> {
    const { store, clock } = this.#core
    this.#isOver = true
    await new Promise<void>((resolve, reject) => {
      const timer = clock.after(withinMs, () => reject(noAnswer(withinMs)))
      store
        .unregister(this.number)
        .then(resolve, reject)
        .finally(() => timer.cancel())
    })
  }

  /** Whether what was done under this number may belong to another runtime. */
  isDead(runtime: number): boolean {
    return runtime === this.#dead || runtime !== this.number
  }

  /** The store declared that number dead. Resolves when this runtime has another one. */
  async onDead(runtime: number): Promise<void> {
    if (runtime !== this.number || this.#isOver) return
    await (this.#returning ??= this.#startOver().finally(() => (this.#returning = undefined)))
  }

  async #startOver(): Promise<void> {
    this.#dead = this.number
    this.#core.log.error(
      { runtime: this.#dead },
      'runtime declared dead because its lease expired; re-registering under a new number',
    )
    this.#core.meter?.lost('declared dead')
    this.#losses.takenOver()
    await this.register()
    this.#search.lookAgain()
  }

  /**
   * Another server has replaced the one before, and may lack its latest writes. Its epochs then begin
   * again where they were, so no write under the old number may reach it: it would look valid. Drops
   * everything at once, and reads it from the new server.
   */
  rollBack(): void {
    const { log, closing } = this.#core
    const old = this.number
    if (closing.aborted || old === this.#dead) return
    this.#dead = old
    this.#rollBacks++
    const instances = this.#losses.rolledBack()
    this.#core.meter?.lost('failover')
    log.warn(
      { runtime: old, instances },
      'database failover detected; dropped cached instances, re-registering under a new number',
    )
    this.#returning ??= this.#comeBack(old)
      .catch((err: unknown) => log.error({ err }, 'runtime could not re-register'))
      .finally(() => (this.#returning = undefined))
  }

  async #comeBack(old: number): Promise<void> {
    const { store, clock, closing } = this.#core
    const isClosing = (): boolean => closing.aborted
    await untilAnswered(clock, isClosing, () => this.register())
    // Frees what it owned now, rather than when the lease expires.
    await untilAnswered(clock, isClosing, () => store.unregister(old))
    this.#search.lookAgain()
  }

  /** The server restarted or was replaced. Returns the instances whose state it does not have. */
  async onServerChange(): Promise<ReadonlySet<Iid>> {
    const { server, instances, lost } = await this.#losses.serverChanged()
    this.#core.meter?.lost('server restart')
    this.#core.log.warn(
      { instances, lost: lost.size },
      'database server restarted or replaced; cached instances were compared with it',
    )
    this.#identity = { ...this.#identity, server }
    return lost
  }
}

function noAnswer(withinMs: number): StoreError {
  return new StoreError(
    'connection_lost',
    'unregister',
    `no answer within ${Math.round(withinMs)} ms; other runtimes take over when the lease has expired`,
  )
}
