// The life of a runtime: the number under which the store knows it, and how it goes on when that
// number is over.
//
//   L1. A number that was declared dead is never used again, and what was done under it is somebody
//       else's: the copies are dropped before there is a new number.
//   L2. Several loops may be told of the same death. One of them sees to it, the others wait.
//   L3. One that was ended on purpose does not come back.

import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type { Iid } from '../../../store/instances.ts'
import type { Registered, RegisterRequest } from '../../../store/runtimes.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { untilAnswered } from '../../core/resend.ts'
import type { Identity } from '../schedule/committer.ts'
import type { Compared } from './ownership.ts'

/** What the life of a runtime means for its parts. */
export interface RegistrationHost {
  readonly store: Pick<WorkflowStore, 'register' | 'unregister'>
  readonly clock: Clock
  readonly log: Logger
  readonly request: RegisterRequest
  /** It is known under a new number; it was asked for at this time of the clock, and of the calendar. */
  registered(registered: Registered, askedMs: number, askedDateMs: number): void
  /** What it had is another runtime's. */
  takenOver(): void
  /** What it had, the store may not have any more. */
  rollBack(): void
  /** How many instances it has. */
  owned(): number
  /** Others reach it under its new number, and it looks for whatever there is. */
  goOn(): void
  /** Drops the copies that the store does not have like that. */
  dropUnknown(runtime: number): Promise<Compared>
  /** The server may hand out numbers again that it gave before. */
  serverChanged(): void
  isClosing(): boolean
}

/** Who a runtime is, from its registration to its end. */
export class Registration {
  readonly #host: RegistrationHost
  #identity: Identity = { runtime: 0, server: '' }
  /** It is dead by its own wish. */
  #isOver = false
  #dead = 0
  #rollBacks = 0
  #rebirth: Promise<void> | undefined

  constructor(host: RegistrationHost) {
    this.#host = host
  }

  get identity(): Identity {
    return this.#identity
  }

  /** How often it was set back. */
  get rollBacks(): number {
    return this.#rollBacks
  }

  async register(): Promise<void> {
    const { store, clock, request } = this.#host
    const askedMs = clock.now()
    const askedDateMs = clock.date().getTime()
    const registered = await store.register(request)
    this.#identity = { runtime: registered.runtime, server: registered.server }
    this.#host.registered(registered, askedMs, askedDateMs)
  }

  /**
   * Ends it, and frees all it has. Throws when the store does not answer within that time: then others
   * go on when the lease has ended.
   */
  async unregister(withinMs: number): Promise<void> {
    const { store, clock } = this.#host
    this.#isOver = true
    await new Promise<void>((resolve, reject) => {
      const timer = clock.after(withinMs, () => reject(noAnswer(withinMs)))
      store
        .unregister(this.#identity.runtime)
        .then(resolve, reject)
        .finally(() => timer.cancel())
    })
  }

  /** Whether what was done under this number may be somebody else's. */
  isDead(runtime: number): boolean {
    return runtime === this.#dead || runtime !== this.#identity.runtime
  }

  /** It was declared dead under that number: resolves when it has another one. */
  async onDead(runtime: number): Promise<void> {
    if (runtime !== this.#identity.runtime || this.#isOver) return
    await (this.#rebirth ??= this.#startOver().finally(() => (this.#rebirth = undefined)))
  }

  async #startOver(): Promise<void> {
    const { log } = this.#host
    this.#dead = this.#identity.runtime
    log.error(
      { runtime: this.#dead },
      'this runtime was declared dead because its lease ended; it continues under a new number',
    )
    this.#host.takenOver()
    await this.register()
    this.#host.goOn()
  }

  /**
   * Another server has taken the place of the one before, and may have lost its latest writes. Its
   * epochs then begin again where they were, so no write under the old number may reach it: what it
   * would be judged by can be the same. All is forgotten at once, and read from the new server.
   */
  rollBack(): void {
    const { log } = this.#host
    const old = this.#identity.runtime
    if (this.#host.isClosing() || old === this.#dead) return
    log.warn(
      { runtime: old, instances: this.#host.owned() },
      'the database server is another one, which may have lost the latest writes; this runtime ' +
        'forgets its copies and continues under a new number',
    )
    this.#dead = old
    this.#rollBacks++
    this.#host.rollBack()
    this.#rebirth ??= this.#comeBack(old)
      .catch((err: unknown) => log.error({ err }, 'this runtime could not come back'))
      .finally(() => (this.#rebirth = undefined))
  }

  async #comeBack(old: number): Promise<void> {
    const { store, clock } = this.#host
    const isClosing = (): boolean => this.#host.isClosing()
    await untilAnswered(clock, isClosing, () => this.register())
    // What it had is anybody's now, rather than after its lease.
    await untilAnswered(clock, isClosing, () => store.unregister(old))
    this.#host.goOn()
  }

  /** The server is another one, or restarted: answers which instances it does not have as they were. */
  async onServerChange(): Promise<ReadonlySet<Iid>> {
    const { server, instances, lost } = await this.#host.dropUnknown(this.#identity.runtime)
    this.#host.log.warn(
      { instances, lost: lost.size },
      'the database server restarted or is another one; copies in memory were compared with it',
    )
    this.#identity = { ...this.#identity, server }
    this.#host.serverChanged()
    return lost
  }
}

function noAnswer(withinMs: number): StoreError {
  return new StoreError(
    'connection_lost',
    'unregister',
    `no answer within ${Math.round(withinMs)} ms; what this runtime had may go on only when its lease has ended`,
  )
}
