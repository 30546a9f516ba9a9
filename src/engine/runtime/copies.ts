import type { Claim, Standing } from '../../store/claims.ts'
import type { Iid } from '../../store/instances.ts'
import type { Copy } from './copy.ts'

// Released copies that are kept in memory, in case they are claimed again here.
const KEPT_COPIES = 1_000
const KEPT_BYTES = 64 << 20
// Owned copies whose code was handed more than this: no further ones are taken on.
const MOST_OWNED_BYTES = 256 << 20

/**
 * The copies in memory: those that are owned, and some that were released and may be used again.
 *
 * Released ones are bounded by count and bytes; the one that rested longest goes first.
 */
export class Copies {
  readonly #owned = new Map<Iid, Copy>()
  readonly #released = new Map<Iid, { readonly copy: Copy; readonly bytes: number }>()
  #bytes = 0
  #ownedBytes = 0

  /** Whether the owned copies take up as much memory as they may. */
  get heavy(): boolean {
    return this.#ownedBytes >= MOST_OWNED_BYTES
  }

  get owned(): number {
    return this.#owned.size
  }

  /** An owned copy. */
  get(iid: Iid): Copy | undefined {
    return this.#owned.get(iid)
  }

  [Symbol.iterator](): IterableIterator<Copy> {
    return this.#owned.values()
  }

  add(copy: Copy): void {
    this.#owned.set(copy.iid, copy)
    this.#ownedBytes += weigh(copy)
  }

  /** The code of an owned copy was handed more. */
  grow(copy: Copy, bytes: number): void {
    copy.handedBytes += bytes
    this.#ownedBytes += bytes
  }

  /** It ended, was refused, or was taken away: also one that was released can be, and is not kept. */
  remove(copy: Copy): void {
    const { iid } = copy
    // Another copy may stand in its place by now.
    if (this.#owned.get(iid) === copy) {
      this.#owned.delete(iid)
      this.#ownedBytes -= weigh(copy)
    }
    const kept = this.#released.get(iid)
    if (kept?.copy === copy) {
      this.#released.delete(iid)
      this.#bytes -= kept.bytes
    }
  }

  /** It was released: kept for a while, in case nobody else takes a turn. */
  release(copy: Copy): void {
    this.remove(copy)
    const bytes = weigh(copy)
    this.#released.set(copy.iid, { copy, bytes })
    this.#bytes += bytes
    for (const [iid, oldest] of this.#released) {
      if (this.#released.size <= KEPT_COPIES && this.#bytes <= KEPT_BYTES) break
      this.#released.delete(iid)
      this.#bytes -= oldest.bytes
      oldest.copy.run.drop()
    }
  }

  /** The released copy that a claim can go on with: the store has no turn that it has not seen. */
  adopt(claim: Claim): Copy | undefined {
    const kept = this.#released.get(claim.iid)
    if (kept === undefined) return undefined
    this.#released.delete(claim.iid)
    this.#bytes -= kept.bytes
    const { copy } = kept
    if (copy.generation === claim.execution && copy.turn === claim.turn) return copy
    copy.run.drop()
    return undefined
  }

  /** Forgets all released copies. */
  forgetReleased(): void {
    for (const { copy } of this.#released.values()) copy.run.drop()
    this.#released.clear()
    this.#bytes = 0
  }

  /** What this runtime believes to be recorded of the copies it owns. */
  standings(): readonly Standing[] {
    return [...this.#owned.values()]
      .filter((copy) => copy.turn > 0)
      .map(({ iid, epoch, generation, turn }) => ({ iid, epoch, execution: generation, turn }))
  }
}

// Closures cannot be weighed: what the code was handed is counted, and something for the rest.
function weigh(copy: Copy): number {
  return 4_096 + copy.handedBytes
}
