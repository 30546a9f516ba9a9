// Compares the copies in memory with what the store says this runtime owns. A copy that the store
// gave to somebody else, or never heard of, is of no use: whatever it sends is refused.

import type { Claim, Loaded, Standing } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { Registry } from '../../define/registry.ts'
import type { InstanceScheduler } from '../schedule/instance-scheduler.ts'

// Until it is known how large they are, a few at a time are read.
const FIRST_LOADS = 8
const MAX_LOADS = 64
// More than this in one answer is too much.
const MAX_LOAD_BYTES = 8 << 20

/** What this needs of its runtime. */
export interface OwnershipHost {
  readonly store: WorkflowStore
  readonly registry: Registry
  readonly scheduler: InstanceScheduler
  isDead(runtime: number): boolean
}

// Enough for all that a process usually has, and a few milliseconds of the database's time.
const MOST_COMPARED = 1_000

/** What a comparison with another server found. */
export interface Compared {
  readonly server: string
  /** How many copies there were. */
  readonly instances: number
  readonly lost: ReadonlySet<Iid>
}

/** Takes on what was claimed, and drops what is owned no longer. */
export class Ownership {
  readonly #host: OwnershipHost
  #heldBefore: ReadonlyMap<Iid, Pick<Standing, 'epoch' | 'turn'>> = new Map()
  #nextQuiet = 0

  /** How many instances are read at once. */
  #loads = FIRST_LOADS

  constructor(host: OwnershipHost) {
    this.#host = host
  }

  /** The copies that are recorded and not being changed at this moment. */
  held(): readonly Standing[] {
    const { instances } = this.#host.scheduler
    return instances.standings().filter(({ iid }) => instances.get(iid)?.state === 'resting')
  }

  /** Drops those of them that are not among what the store says is owned. */
  dropLost(held: readonly Standing[], owned: readonly Claim[]): void {
    const { scheduler } = this.#host
    const epochs = new Map(owned.map(({ iid, epoch }) => [iid, epoch]))
    for (const { iid, epoch } of held) {
      const instance = scheduler.instances.get(iid)
      if (instance === undefined || instance.epoch !== epoch || epochs.get(iid) === epoch) continue
      // One that is being committed is told by the answer.
      if (instance.state === 'resting') scheduler.eviction.recall(instance)
    }
  }

  /**
   * Drops copies that are owned no longer, of those to which nothing has happened since it was last
   * asked: the others find out by what they write. Of very many, some at a time.
   */
  async dropLostOfSome(runtime: number): Promise<void> {
    const { store, scheduler } = this.#host
    const held = this.held()
    const before = this.#heldBefore
    this.#heldBefore = new Map(held.map(({ iid, epoch, turn }) => [iid, { epoch, turn }]))
    const quiet = held.filter(({ iid, epoch, turn }) => {
      const known = before.get(iid)
      return known?.epoch === epoch && known.turn === turn
    })
    if (quiet.length === 0) return
    const from = this.#nextQuiet < quiet.length ? this.#nextQuiet : 0
    const some = quiet.slice(from, from + MOST_COMPARED)
    this.#nextQuiet = from + some.length
    const { same } = await store.verify(runtime, some)
    for (const [i, { iid, epoch }] of some.entries()) {
      const instance = scheduler.instances.get(iid)
      if (same[i] || instance?.epoch !== epoch) continue
      // One that is being committed is told by the answer.
      if (instance.state === 'resting') scheduler.eviction.recall(instance)
    }
  }

  /** Goes on with what that runtime owns, unless it was declared dead meanwhile. */
  async takeOn(runtime: number, claims: readonly Claim[]): Promise<void> {
    const { store, registry, scheduler } = this.#host
    for (let next = 0; next < claims.length;) {
      const some = claims.slice(next, next + this.#loads)
      next += some.length
      const wanted = some.map((claim) => ({ claim, kept: scheduler.instances.adopt(claim) }))
      const loaded = await store.load(
        wanted.map(({ claim, kept }) => ({ iid: claim.iid, after: kept?.turn ?? 0 })),
      )
      if (this.#host.isDead(runtime)) return
      this.#loads = loadsAfter(this.#loads, loaded)
      const byIid = new Map(loaded.map((instance) => [instance.iid, instance]))
      for (const { claim, kept } of wanted) {
        const instance = byIid.get(claim.iid)
        const definition = instance && registry.workflow(instance.workflow)
        if (instance && definition) scheduler.resume(claim, instance, definition, kept)
      }
    }
  }

  /** The lease had ended, and nobody took over: somebody may have changed an instance all the same. */
  async dropTaken(runtime: number): Promise<void> {
    const { store, scheduler } = this.#host
    const standings = scheduler.instances.standings()
    if (standings.length === 0) return
    const { same } = await store.verify(runtime, standings)
    for (const [i, { iid, epoch }] of standings.entries()) {
      const instance = scheduler.instances.get(iid)
      if (!same[i] && instance?.epoch === epoch)
        scheduler.eviction.drop(instance, 'it was taken away')
    }
  }

  /**
   * Somebody says that these were changed from outside: drops those of which the store says so, too,
   * and answers how many. One that is being committed is told by the answer to that.
   */
  async dropChanged(runtime: number, iids: readonly Iid[]): Promise<number> {
    const { store, scheduler } = this.#host
    const standings = iids.flatMap((iid) => {
      const instance = scheduler.instances.get(iid)
      if (instance === undefined || instance.turn === 0) return []
      const { epoch, execution, turn } = instance
      return [{ iid, epoch, execution, turn }]
    })
    if (standings.length === 0) return 0
    const { same } = await store.verify(runtime, standings)
    let dropped = 0
    for (const [i, { iid, epoch }] of standings.entries()) {
      const instance = scheduler.instances.get(iid)
      if (same[i] || instance?.epoch !== epoch || instance.state === 'committing') continue
      scheduler.eviction.recall(instance)
      dropped++
    }
    return dropped
  }

  /** Drops what a server that restarted, or took the place of another, does not have. */
  async dropUnknown(runtime: number): Promise<Compared> {
    const { store, scheduler } = this.#host
    const standings = scheduler.instances.standings()
    const { server, same } = await store.verify(runtime, standings)
    const lost = new Set(standings.filter((_, i) => !same[i]).map(({ iid }) => iid))
    for (const iid of lost) {
      const instance = scheduler.instances.get(iid)
      if (instance !== undefined)
        scheduler.eviction.drop(instance, 'the database lost its latest turns')
    }
    scheduler.instances.forgetReleased()
    return { server, instances: standings.length, lost }
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
