import type { Claim, CachedInstance } from '../../../store/claims.ts'
import type { Iid } from '../../../store/instances.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

// Released instances that stay in memory, in case they are claimed again here.
const KEPT_INSTANCES = 1_000
const KEPT_BYTES = 64 << 20
// Once owned instances use more than this, the runtime takes on no more.
const MAX_OWNED_BYTES = 256 << 20

/**
 * The instances in memory: those that are owned, and some that were released and may be used again.
 *
 * Released ones are bounded by count and bytes; the one released longest ago goes first.
 */
export class LiveInstances {
  readonly #owned = new Map<Iid, LiveInstance>()
  readonly #released = new Map<Iid, { readonly instance: LiveInstance; readonly bytes: number }>()
  #bytes = 0
  #ownedBytes = 0

  /** Whether the owned instances take up as much memory as they may. */
  get heavy(): boolean {
    return this.#ownedBytes >= MAX_OWNED_BYTES
  }

  get owned(): number {
    return this.#owned.size
  }

  /** An owned instance. */
  get(iid: Iid): LiveInstance | undefined {
    return this.#owned.get(iid)
  }

  [Symbol.iterator](): IterableIterator<LiveInstance> {
    return this.#owned.values()
  }

  add(instance: LiveInstance): void {
    this.#owned.set(instance.iid, instance)
    this.#ownedBytes += weigh(instance)
  }

  /** The code of owned instances received this many more bytes. */
  grew(bytes: number): void {
    this.#ownedBytes += bytes
  }

  /** Removes an instance that ended, was refused or was taken over, even one that was released. */
  remove(instance: LiveInstance): void {
    const { iid } = instance
    // Another one may have taken its place by now.
    if (this.#owned.get(iid) === instance) {
      this.#owned.delete(iid)
      this.#ownedBytes -= weigh(instance)
    }
    const kept = this.#released.get(iid)
    if (kept?.instance === instance) {
      this.#released.delete(iid)
      this.#bytes -= kept.bytes
    }
  }

  /** Keeps an instance that was released, in case no other runtime takes a turn of it. */
  release(instance: LiveInstance): void {
    this.remove(instance)
    const bytes = weigh(instance)
    this.#released.set(instance.iid, { instance, bytes })
    this.#bytes += bytes
    for (const [iid, oldest] of this.#released) {
      if (this.#released.size <= KEPT_INSTANCES && this.#bytes <= KEPT_BYTES) break
      this.#released.delete(iid)
      this.#bytes -= oldest.bytes
      oldest.instance.run.drop()
    }
  }

  /** The released instance that a claim can continue: it has seen every turn that the store has. */
  adopt(claim: Claim): LiveInstance | undefined {
    const kept = this.#released.get(claim.iid)
    if (kept === undefined) return undefined
    this.#released.delete(claim.iid)
    this.#bytes -= kept.bytes
    const { instance } = kept
    if (instance.execution === claim.execution && instance.turn === claim.turn) return instance
    instance.run.drop()
    return undefined
  }

  /** Forgets all released instances. */
  forgetReleased(): void {
    for (const { instance } of this.#released.values()) instance.run.drop()
    this.#released.clear()
    this.#bytes = 0
  }

  /** How far the owned instances are committed, as this runtime believes. */
  cachedInstances(): readonly CachedInstance[] {
    return [...this.#owned.values()]
      .filter((instance) => instance.isStarted)
      .map(({ iid, epoch, execution, turn }) => ({ iid, epoch, execution, turn }))
  }
}

// The size of closures is unknown: counts what the code received, and a constant for the rest.
function weigh(instance: LiveInstance): number {
  return 4_096 + instance.handedBytes
}
