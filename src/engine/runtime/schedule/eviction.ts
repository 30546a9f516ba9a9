// How instances leave a runtime: released, ended, evicted.
//
//   An evicted instance leaves no timer and no activity behind, and its code is dropped.
//   Late results: what finishes here for an instance that another runtime owns by now is handed over
//   to that runtime. If the store may have lost what the result depends on, it is dropped.

import type { Clock } from '../../../base/time/clock.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { Delivery } from '../../../store/inbox.ts'
import type { Iid } from '../../../store/instances.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { Endings } from '../../core/endings.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { Departure } from '../../instance/phase.ts'
import { NO_OUTPUT, type TurnOutput } from '../../instance/turn-output.ts'
import { finishedResults, unrecordedResults } from '../../instance/unrecorded-results.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { LiveInstances } from './live-instances.ts'
import type { ActivityServices, Finder } from './ports.ts'

/** Lets instances go. */
export class Eviction {
  readonly #core: RuntimeCore
  readonly #instances: LiveInstances
  readonly #endings: Endings
  readonly #finder: Finder
  readonly #left = notify()
  #taskClaimer!: ActivityServices['claimer']

  constructor(core: RuntimeCore, instances: LiveInstances, endings: Endings, finder: Finder) {
    this.#core = core
    this.#instances = instances
    this.#endings = endings
    this.#finder = finder
  }

  /** Call it before any instance leaves. */
  connect({ claimer }: ActivityServices): void {
    this.#taskClaimer = claimer
  }

  /** It leaves this runtime for good: it ended, continued as its next execution, or is evicted. */
  leave(instance: LiveInstance, why: Departure, reason: string): void {
    this.leaveQuarantine(instance)
    instance.timers.cancelAll(this.#core.alarms)
    instance.leave(why, reason)
    this.#instances.remove(instance)
    this.#noteLeft(instance.iid)
  }

  /** It was released. It stays in memory in case this runtime claims it again. */
  release(instance: LiveInstance): void {
    instance.timers.cancelAll(this.#core.alarms)
    this.leaveQuarantine(instance)
    instance.released()
    this.#instances.release(instance)
    this.#noteLeft(instance.iid)
    this.#endings.notify(instance.iid, undefined)
  }

  /** Drops it from memory: another runtime owns it, or this one reads it again. */
  evict(instance: LiveInstance, reason: string, why: Departure = 'evicted'): void {
    instance.start?.settle(new StoreError('closed', 'start', reason))
    this.leave(instance, why, reason)
    this.#endings.notify(instance.iid, undefined)
    this.#finder.claimer.doubt()
  }

  /**
   * Another runtime owns it, or it was changed from outside: the store refuses what this one sends. What
   * finished here, even in a turn that was refused, is for its owner.
   */
  supersede(instance: LiveInstance, reason: string, output: TurnOutput = NO_OUTPUT): void {
    const wasGone = instance.isGone
    const results = finishedResults(instance, output)
    if (instance.supersede('superseded')) void this.handOver(instance, results)
    if (!wasGone) this.evict(instance, reason)
  }

  /** It is suspended: what finished here is kept in its inbox until it is resumed. */
  suspended(instance: LiveInstance): void {
    const results = unrecordedResults(instance)
    if (instance.supersede('suspended')) void this.handOver(instance, results)
    this.evict(instance, 'the instance was suspended')
  }

  /** These instances were changed from outside. */
  supersedeAll(iids: readonly Iid[]): void {
    for (const iid of iids) {
      const instance = this.#instances.get(iid)
      if (instance !== undefined) this.supersede(instance, CHANGED)
    }
  }

  /** Another runtime took over all that the store knows of. Uncommitted starts stay valid. */
  supersedeStarted(reason: string): void {
    for (const instance of this.#instances) if (instance.isStarted) this.supersede(instance, reason)
  }

  /**
   * The store may have lost turns of these instances. An uncommitted start stays valid, unless an
   * instance asked for it, whose turn may be lost.
   */
  rollBackAll(reason: string): void {
    for (const instance of this.#instances) {
      if (!instance.isStarted && instance.parent === null) continue
      instance.inbox.dropArrivals()
      this.evict(instance, reason, 'rolled back')
    }
  }

  /**
   * It got further than the owners that died with it, or left. Instances and tasks in quarantine run one
   * at a time, so the next one may run.
   */
  leaveQuarantine(instance: LiveInstance): void {
    if (!instance.leaveQuarantine()) return
    this.#finder.claimer.wake()
    this.#taskClaimer.wake()
  }

  /** Resolves when no instance is owned here any more, after `withinMs` at the latest. */
  async untilAllLeft(clock: Clock, withinMs: number): Promise<void> {
    let late = false
    const timer = clock.after(withinMs, () => {
      late = true
      this.#left.notifyOne()
    })
    while (this.#instances.owned > 0 && !late) await this.#left.wait()
    timer.cancel()
  }

  /** Puts results into the inbox of their instance, for its next owner or until it is resumed. */
  async handOver(instance: LiveInstance, results: readonly Delivery[]): Promise<void> {
    const { store, log, closing } = this.#core
    if (results.length === 0) return
    try {
      await store.send(results)
      this.#finder.look(results.map(({ iid }) => iid))
    } catch (error) {
      // Nothing is lost when the runtime is closed: the instance has ended, or its next owner runs the
      // activity again.
      if (closing.aborted && error instanceof StoreError && error.code === 'closed') return
      log.warn(
        { ...instanceKeys(instance), err: error },
        'could not hand over results of an instance that this runtime no longer owns; its activities may run again',
      )
    }
  }

  #noteLeft(iid: Iid): void {
    this.#left.notifyOne()
    this.#finder.claimer.left(iid)
  }
}

/** The reason for dropping an instance that was changed from outside. */
export const CHANGED = 'it was changed from outside'
