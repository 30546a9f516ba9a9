// How copies leave a runtime: released, ended, thrown away.
//
//   D1. A copy that is gone stays gone: nothing of it rings or runs, and its code is dropped.
//   D2. What finished here for an instance that somebody else has by now is handed over to whoever
//       has it, unless the store may have lost what it follows from: then nothing of it goes anywhere.

import type { Clock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { Delivery } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Carrier } from './carrier.ts'
import type { Copies } from './copies.ts'
import type { Copy, TurnResult } from './copy.ts'
import type { Endings } from './endings.ts'
import { finishedResults, unrecordedResults } from './hand-over.ts'
import { NOTHING } from './scribe.ts'

/** Who is told when copies leave. */
export interface DeparturesHost {
  /** Hands results over that an owner who lost the instance still has. */
  handOver(deliveries: readonly Delivery[]): void
  /** An instance is no longer owned here. */
  left(iid: Iid): void
  /** A copy was thrown away: the store may still say that its instance is owned here. */
  dropped(): void
  /** What owners died with comes one at a time, and this one is over. */
  carefulOver(): void
}

/** Lets copies go. */
export class Departures {
  readonly #host: DeparturesHost
  readonly #copies: Copies
  readonly #endings: Endings
  readonly #carrier: Carrier
  readonly #left = notify()

  constructor(host: DeparturesHost, copies: Copies, endings: Endings, carrier: Carrier) {
    this.#host = host
    this.#copies = copies
    this.#endings = endings
    this.#carrier = carrier
  }

  /** Its instance has ended, or goes on without it: see D1. Those who wait for it are told elsewhere. */
  leave(copy: Copy, reason: string): void {
    copy.state = 'gone'
    this.noLongerCareful(copy)
    this.#carrier.silence(copy)
    for (const attempt of copy.running.values()) attempt.abort(reason)
    copy.running.clear()
    copy.run.drop()
    this.#copies.remove(copy)
    this.#notifyLeft(copy.iid)
  }

  /** Its instance was given back. The copy is kept for a while, in case it is claimed here again. */
  release(copy: Copy): void {
    this.#carrier.silence(copy)
    this.noLongerCareful(copy)
    copy.state = 'released'
    this.#copies.release(copy)
    this.#notifyLeft(copy.iid)
    this.#endings.tell(copy.iid, undefined)
  }

  /** Throws a copy away. What it stands for is somebody else's, or will be read again. */
  drop(copy: Copy, reason: string): void {
    copy.onStarted?.(new StoreError('closed', 'start', reason))
    this.leave(copy, reason)
    this.#endings.tell(copy.iid, undefined)
    this.#host.dropped()
  }

  /** The instance was changed from outside, or taken over: whatever this copy sends is refused. */
  recall(copy: Copy, reason = 'it was changed from outside'): void {
    if (copy.isSetBack) return
    this.handOver(copy, NOTHING)
    this.drop(copy, reason)
  }

  /** These instances were changed from outside. */
  recallAll(iids: readonly Iid[]): void {
    for (const iid of iids) {
      const copy = this.#copies.get(iid)
      if (copy !== undefined) this.recall(copy)
    }
  }

  /** All that the store knows of is somebody else's. A start that is not recorded yet stays good. */
  recallRecorded(reason: string): void {
    for (const copy of this.#copies) if (copy.turn > 0) this.recall(copy, reason)
  }

  /**
   * The store may have lost what copies are about. A start that is not recorded yet stays good, unless
   * an instance asked for it: that one may be lost.
   */
  setBackAll(reason: string): void {
    for (const copy of this.#copies) {
      if (copy.turn === 0 && copy.parent === null) continue
      copy.isSetBack = true
      copy.arrivals = []
      this.drop(copy, reason)
    }
  }

  /** Somebody else has the instance: what finished here, also in a turn that was refused, is theirs. */
  handOver(copy: Copy, result: TurnResult): void {
    if (copy.isSetBack) return
    this.#handOver(copy, finishedResults(copy, result))
  }

  /** It is suspended: what came to an end here is kept in its inbox until it is resumed. */
  keepResults(copy: Copy): void {
    if (!copy.isSetBack) this.#handOver(copy, unrecordedResults(copy))
  }

  #handOver(copy: Copy, results: readonly Delivery[]): void {
    copy.overruled = true
    copy.arrivals = []
    if (results.length > 0) this.#host.handOver(results)
  }

  /** It got further, or is gone: another one that owners died with may be had. */
  noLongerCareful(copy: Copy): void {
    if (!copy.careful) return
    copy.careful = false
    this.#host.carefulOver()
  }

  /** Resolves when no copy is owned here any more, after `withinMs` at the latest. */
  async untilAllLeft(clock: Clock, withinMs: number): Promise<void> {
    let late = false
    const timer = clock.after(withinMs, () => {
      late = true
      this.#left.notifyOne()
    })
    while (this.#copies.owned > 0 && !late) await this.#left.wait()
    timer.cancel()
  }

  #notifyLeft(iid: Iid): void {
    this.#left.notifyOne()
    this.#host.left(iid)
  }
}
