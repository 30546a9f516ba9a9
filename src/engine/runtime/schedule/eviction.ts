// How copies leave a runtime: released, ended, thrown away.
//
//   D1. A copy that is gone stays gone: nothing of it rings or runs, and its code is dropped.
//   D2. What finished here for an instance that somebody else has by now is handed over to whoever
//       has it, unless the store may have lost what it follows from: then nothing of it goes anywhere.

import type { Clock } from '../../../base/time/clock.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { Delivery } from '../../../store/inbox.ts'
import type { Iid } from '../../../store/instances.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { CommandRunner } from './command-runner.ts'
import type { LiveInstances } from './live-instances.ts'
import type { LiveInstance, TurnOutput } from '../../instance/live-instance.ts'
import type { Endings } from '../../core/endings.ts'
import { finishedResults, unrecordedResults } from '../../instance/unrecorded-results.ts'
import { NOTHING } from './commit-writer.ts'

/** Who is told when copies leave. */
export interface EvictionHost {
  /** Hands results over that an owner who lost the instance still has. */
  handOver(deliveries: readonly Delivery[]): void
  /** An instance is no longer owned here. */
  left(iid: Iid): void
  /** A copy was thrown away: the store may still say that its instance is owned here. */
  dropped(): void
  /** What owners died with comes one at a time, and this one is over. */
  quarantineOver(): void
}

/** Lets copies go. */
export class Eviction {
  readonly #host: EvictionHost
  readonly #instances: LiveInstances
  readonly #endings: Endings
  readonly #commands: CommandRunner
  readonly #left = notify()

  constructor(
    host: EvictionHost,
    instances: LiveInstances,
    endings: Endings,
    commands: CommandRunner,
  ) {
    this.#host = host
    this.#instances = instances
    this.#endings = endings
    this.#commands = commands
  }

  /** Its instance has ended, or goes on without it: see D1. Those who wait for it are told elsewhere. */
  leave(instance: LiveInstance, reason: string): void {
    instance.state = 'gone'
    this.leaveQuarantine(instance)
    this.#commands.silence(instance)
    for (const attempt of instance.running.values()) attempt.abort(reason)
    instance.running.clear()
    instance.run.drop()
    this.#instances.remove(instance)
    this.#notifyLeft(instance.iid)
  }

  /** Its instance was given back. The copy is kept for a while, in case it is claimed here again. */
  release(instance: LiveInstance): void {
    this.#commands.silence(instance)
    this.leaveQuarantine(instance)
    instance.state = 'released'
    this.#instances.release(instance)
    this.#notifyLeft(instance.iid)
    this.#endings.tell(instance.iid, undefined)
  }

  /** Throws a copy away. What it stands for is somebody else's, or will be read again. */
  drop(instance: LiveInstance, reason: string): void {
    instance.onStarted?.(new StoreError('closed', 'start', reason))
    this.leave(instance, reason)
    this.#endings.tell(instance.iid, undefined)
    this.#host.dropped()
  }

  /** The instance was changed from outside, or taken over: whatever this copy sends is refused. */
  recall(instance: LiveInstance, reason = 'it was changed from outside'): void {
    if (instance.isRolledBack) return
    this.handOver(instance, NOTHING)
    this.drop(instance, reason)
  }

  /** These instances were changed from outside. */
  recallAll(iids: readonly Iid[]): void {
    for (const iid of iids) {
      const instance = this.#instances.get(iid)
      if (instance !== undefined) this.recall(instance)
    }
  }

  /** All that the store knows of is somebody else's. A start that is not recorded yet stays good. */
  recallRecorded(reason: string): void {
    for (const instance of this.#instances) if (instance.turn > 0) this.recall(instance, reason)
  }

  /**
   * The store may have lost what copies are about. A start that is not recorded yet stays good, unless
   * an instance asked for it: that one may be lost.
   */
  rollBackAll(reason: string): void {
    for (const instance of this.#instances) {
      if (instance.turn === 0 && instance.parent === null) continue
      instance.isRolledBack = true
      instance.arrivals = []
      this.drop(instance, reason)
    }
  }

  /** Somebody else has the instance: what finished here, also in a turn that was refused, is theirs. */
  handOver(instance: LiveInstance, result: TurnOutput): void {
    if (instance.isRolledBack) return
    this.#handOver(instance, finishedResults(instance, result))
  }

  /** It is suspended: what came to an end here is kept in its inbox until it is resumed. */
  keepResults(instance: LiveInstance): void {
    if (!instance.isRolledBack) this.#handOver(instance, unrecordedResults(instance))
  }

  #handOver(instance: LiveInstance, results: readonly Delivery[]): void {
    instance.superseded = true
    instance.arrivals = []
    if (results.length > 0) this.#host.handOver(results)
  }

  /** It got further, or is gone: another one that owners died with may be had. */
  leaveQuarantine(instance: LiveInstance): void {
    if (!instance.quarantined) return
    instance.quarantined = false
    this.#host.quarantineOver()
  }

  /** Resolves when no copy is owned here any more, after `withinMs` at the latest. */
  async untilAllLeft(clock: Clock, withinMs: number): Promise<void> {
    let late = false
    const timer = clock.after(withinMs, () => {
      late = true
      this.#left.notifyOne()
    })
    while (this.#instances.owned > 0 && !late) await this.#left.wait()
    timer.cancel()
  }

  #notifyLeft(iid: Iid): void {
    this.#left.notifyOne()
    this.#host.left(iid)
  }
}
