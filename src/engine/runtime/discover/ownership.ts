// What this runtime owns, in memory and in the store. Takes on what was claimed, and drops cached
// instances that the store gave to another runtime or never had: it would reject all their writes.

import type { Claim, Loaded, CachedInstance } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import type { IidPool } from '../../core/iid-pool.ts'
import { readAgain } from '../../core/resend.ts'
import { TAKEN_OVER } from '../core/reasons.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Committer } from '../schedule/committer.ts'
import { CHANGED } from '../schedule/eviction.ts'
import type { InstanceScheduler } from '../schedule/instance-scheduler.ts'
import type { Starts } from '../schedule/starts.ts'
import type { Claimer, ClaimTaker } from './claimer.ts'
import type { PoolServices } from './ports.ts'
import type { OwnershipLosses, Registration } from './registration.ts'

// Reads a few at a time until their size is known.
const FIRST_LOADS = 8
const MAX_LOADS = 64
// The largest acceptable answer.
const MAX_LOAD_BYTES = 8 << 20
// Enough for all that a process usually owns, and a few milliseconds of the database's time.
const MAX_COMPARED = 1_000

/** The result of a comparison with a server that changed. */
export interface Comparison {
  readonly server: string
  /** How many instances were compared. */
  readonly instances: number
  readonly lost: ReadonlySet<Iid>
}

/** The services whose state is lost together with the instances of this runtime. */
export interface OwningServices {
  readonly registration: Registration
  readonly scheduler: InstanceScheduler
  readonly committer: Committer
  readonly starts: Starts
  readonly iids: IidPool
  readonly activities: PoolServices
  readonly claimer: Claimer
}

/** Takes on what was claimed, and drops what is no longer owned. */
export class Ownership implements ClaimTaker, OwnershipLosses {
  readonly #core: RuntimeCore
  readonly #services: OwningServices
  #quietBefore: ReadonlyMap<Iid, Pick<CachedInstance, 'epoch' | 'turn'>> = new Map()
  #nextQuiet = 0
  /** How many instances are read at once. */
  #loads = FIRST_LOADS

  constructor(core: RuntimeCore, services: OwningServices) {
    this.#core = core
    this.#services = services
  }

  /** The instances that are stored and not being changed at this moment. */
  waiting(): readonly CachedInstance[] {
    const { instances } = this.#services.scheduler
    return instances
      .cachedInstances()
      .filter(({ iid }) => instances.get(iid)?.phase.is === 'waiting')
  }

  /** Drops those of them that are not among what the store says is owned. */
  dropLost(waiting: readonly CachedInstance[], owned: readonly Claim[]): void {
    const epochs = new Map(owned.map(({ iid, epoch }) => [iid, epoch]))
    for (const { iid, epoch } of waiting) if (epochs.get(iid) !== epoch) this.#recall(iid, epoch)
  }

  /**
   * Drops instances that are no longer owned. Compares only those that were idle since the last
   * comparison, because the others learn it from their next commit; of very many, some at a time.
   */
  async dropLostOfSome(): Promise<void> {
    const waiting = this.waiting()
    const before = this.#quietBefore
    this.#quietBefore = new Map(waiting.map(({ iid, epoch, turn }) => [iid, { epoch, turn }]))
    const quiet = waiting.filter(({ iid, epoch, turn }) => {
      const known = before.get(iid)
      return known?.epoch === epoch && known.turn === turn
    })
    if (quiet.length === 0) return
    const from = this.#nextQuiet < quiet.length ? this.#nextQuiet : 0
    const some = quiet.slice(from, from + MAX_COMPARED)
    this.#nextQuiet = from + some.length
    const { same } = await this.#verify(some)
    for (const [i, { iid, epoch }] of some.entries()) if (!same[i]) this.#recall(iid, epoch)
  }

  /** An instance that is being committed learns it from the verdict. */
  #recall(iid: Iid, epoch: number): void {
    const { instances, eviction } = this.#services.scheduler
    const instance = instances.get(iid)
    if (instance?.epoch !== epoch || instance.phase.is !== 'waiting') return
    eviction.supersede(instance, CHANGED)
  }

  /** Resumes what that runtime owns, unless it was declared dead meanwhile. */
  async takeOn(runtime: number, claims: readonly Claim[]): Promise<void> {
    const { store, registry, clock, closing } = this.#core
    const { registration, scheduler } = this.#services
    for (let next = 0; next < claims.length;) {
      const some = claims.slice(next, next + this.#loads)
      next += some.length
      const wanted = some.map((claim) => ({ claim, kept: scheduler.instances.adopt(claim) }))
      const targets = wanted.map(({ claim, kept }) => ({ iid: claim.iid, after: kept?.turn ?? 0 }))
      const loaded = await readAgain(clock, closing, () => store.load(targets))
      if (registration.isDead(runtime)) return
      this.#loads = loadsAfter(this.#loads, loaded)
      const byIid = new Map(loaded.map((instance) => [instance.iid, instance]))
      for (const { claim, kept } of wanted) {
        const instance = byIid.get(claim.iid)
        const definition = instance && registry.workflow(instance.workflow)
        if (instance && definition) scheduler.claimed(claim, instance, definition, kept)
      }
    }
  }

  /**
   * Another process says that these were changed from outside. Drops those that the store confirms, and
   * returns how many. An instance that is being committed learns it from the verdict.
   */
  async dropChanged(iids: readonly Iid[]): Promise<number> {
    const { instances, eviction } = this.#services.scheduler
    const cached = iids.flatMap((iid) => {
      const instance = instances.get(iid)
      if (instance === undefined || !instance.isStarted) return []
      const { epoch, execution, turn } = instance
      return [{ iid, epoch, execution, turn }]
    })
    if (cached.length === 0) return 0
    const { same } = await this.#verify(cached)
    let dropped = 0
    for (const [i, { iid, epoch }] of cached.entries()) {
      const instance = instances.get(iid)
      if (same[i] || instance?.epoch !== epoch || instance.phase.is === 'committing') continue
      eviction.supersede(instance, CHANGED)
      dropped++
    }
    return dropped
  }

  takenOver(): void {
    const { scheduler, committer, activities } = this.#services
    scheduler.eviction.supersedeStarted(TAKEN_OVER)
    committer.forgetTurns()
    scheduler.instances.forgetReleased()
    activities.tasks.owned.supersede(TAKEN_OVER)
  }

  rolledBack(): number {
    const { scheduler, committer, starts, activities, iids } = this.#services
    const { owned } = scheduler.instances
    scheduler.eviction.rollBackAll('the database may have lost its latest turns')
    committer.forgetAll()
    starts.forgetChildren()
    scheduler.instances.forgetReleased()
    activities.tasks.owned.supersede('the database may have lost it')
    iids.forget()
    return owned
  }

  async leaseLapsed(): Promise<void> {
    const { instances, eviction } = this.#services.scheduler
    const cached = instances.cachedInstances()
    if (cached.length === 0) return
    const { same } = await this.#verify(cached)
    for (const [i, { iid, epoch }] of cached.entries()) {
      const instance = instances.get(iid)
      if (!same[i] && instance?.epoch === epoch) eviction.evict(instance, 'it was taken over')
    }
  }

  async serverChanged(): Promise<Comparison> {
    const { scheduler, iids, claimer } = this.#services
    const { instances, eviction } = scheduler
    const cached = instances.cachedInstances()
    const { server, same } = await this.#verify(cached)
    const lost = new Set(cached.filter((_, i) => !same[i]).map(({ iid }) => iid))
    for (const iid of lost) {
      const instance = instances.get(iid)
      if (instance !== undefined) eviction.evict(instance, 'the database lost its latest turns')
    }
    instances.forgetReleased()
    // A server that lost its latest writes may hand out the same numbers again.
    iids.forget()
    claimer.reconcile()
    return { server, instances: cached.length, lost }
  }

  #verify(cachedInstances: readonly CachedInstance[]) {
    return this.#core.store.verify(this.#services.registration.number, cachedInstances)
  }
}

/** How many instances to read at once, after these: fewer when they were large. */
function loadsAfter(count: number, loaded: readonly Loaded[]): number {
  let bytes = 0
  for (const { history, inbox } of loaded) {
    for (const { events } of history) bytes += events.length
    for (const { payload } of inbox) bytes += payload?.length ?? 0
  }
  return bytes > MAX_LOAD_BYTES ? Math.max(count >> 1, 1) : Math.min(count * 2, MAX_LOADS)
}
