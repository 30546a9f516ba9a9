// Hints to and from other processes.
//
//   - Sent: what this runtime did that others may be waiting for. Sending never fails, and
//     nothing waits for it.
//   - Received: what concerns this runtime goes to the hint listener, as often as the gate allows.
//     The exchange tracks which processes wait for changes of which instances.

import type { Clock } from '../../../base/time/clock.ts'
import type {
  NotifierHealth,
  Hint,
  HintInterest,
  HintStore,
  HintSubscription,
  Announcement,
} from '../../../store/hints.ts'
import type { Iid } from '../../../store/instances.ts'
import type { NewTask } from '../../../store/tasks.ts'
import { RemoteChanges, type RemoteChangesHost } from '../../core/remote-changes.ts'
import type { Capacity } from '../schedule/capacity.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import { HintGate, type WorkHint } from './hint-gate.ts'
import type { Registration } from './registration.ts'
import { WaitersElsewhere } from './waiters-elsewhere.ts'

// How often a runtime without free slots asks all others to look for work.
const OVERFLOW_MS = 500

/** What follows from hints in this runtime. */
export interface HintFollower {
  /** Asked again at each use: a runtime that was declared dead has another number. */
  interest(): HintInterest
  /** Whether a hint concerns this runtime, as far as it knows without asking the store. */
  concerns(hint: WorkHint): boolean
  /** Checks the hint with the store, and takes the work. */
  follow(hint: WorkHint): void
  /** A schedule is due at this moment of store time. */
  lookAtSchedules(at: number): void
  /** Hints may have been missed: asks the store. Returns whether there was anything to do. */
  look(): Promise<boolean>
}

/** Sends and receives hints for one runtime. */
export class HintExchange implements RemoteChangesHost {
  readonly clock: Clock
  /** Callers in this process that wait for changes of instances that other processes own. */
  readonly changes: RemoteChanges
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #capacity: Capacity
  readonly #instances: LiveInstances
  /** `undefined` for a store without hints: then nothing is sent, and nothing received. */
  readonly #hints: HintStore | undefined
  readonly #elsewhere: WaitersElsewhere
  readonly #gate: HintGate
  #listening: HintSubscription | undefined
  #overflowMs = -Infinity

  constructor(
    core: RuntimeCore,
    registration: Registration,
    capacity: Capacity,
    instances: LiveInstances,
  ) {
    this.clock = core.clock
    this.#core = core
    this.#registration = registration
    this.#capacity = capacity
    this.#instances = instances
    this.#hints = core.store.hints
    this.changes = new RemoteChanges(this)
    this.#elsewhere = new WaitersElsewhere(this)
    this.#gate = new HintGate(core.clock)
  }

  /** Begins to listen. */
  open(follower: HintFollower): void {
    const { clock, log } = this.#core
    this.#gate.open(follower)
    this.#listening = this.#hints?.listen({
      clock,
      log,
      interest: () => follower.interest(),
      receive: (hint) => this.#receive(hint, follower),
      poll: () => {
        if (this.isListening()) this.changes.resumed()
        return follower.look()
      },
    })
  }

  /** The runtime has a new number, under which others reach it. */
  refresh(): void {
    this.#listening?.refresh()
  }

  /** Whether hints are received at present. */
  isListening(): boolean {
    return this.#listening?.isListening === true
  }

  health(): NotifierHealth {
    return this.#listening?.health() ?? { state: 'off', interruptions: 0 }
  }

  async close(): Promise<void> {
    this.changes.close()
    this.#gate.close()
    await this.#listening?.close()
  }

  #receive(hint: Hint, follower: HintFollower): void {
    this.#core.meter?.hint('received', hint.kind)
    this.changes.receive(hint)
    switch (hint.kind) {
      case 'work':
      case 'tasks':
      case 'dropped':
      case 'recalled':
        if (follower.concerns(hint)) this.#gate.receive(hint)
        return
      case 'schedules':
        return follower.lookAtSchedules(hint.at)
      case 'waiting':
        return this.#elsewhere.wait(hint.to, hint.iids)
      case 'changed':
      case 'joined':
      case 'messages':
    }
  }

  /** Queries that hints may have caused found this much work, so further hints are worth following. */
  found(count: number): void {
    this.#gate.found(count)
  }

  /** Sends to other processes. */
  announce(announcement: Announcement): void {
    if (this.#hints === undefined) return
    const hasRoom = this.#capacity.free > 0
    this.#core.meter?.hint('sent', announcement.kind)
    this.#hints.announce(announcement, { runtime: this.#registration.number, hasRoom })
  }

  /** There is mail for these: for the owners of those that are not owned here. */
  tellMail(iids: readonly Iid[]): void {
    const others = iids.filter((iid) => this.#instances.get(iid) === undefined)
    if (others.length > 0) this.announce({ kind: 'mail', iids: others })
  }

  /** There are new tasks. */
  announceTasks(tasks: readonly NewTask[]): void {
    const activities = tasks.map(({ activity, tag, session }) => ({
      activity,
      count: 1,
      pinned: tag !== '' || session !== '',
    }))
    this.announce({ kind: 'tasks', activities })
  }

  /** There is work for which this runtime has no free slot. */
  tellOverflow(): void {
    const nowMs = this.clock.now()
    if (nowMs - this.#overflowMs < OVERFLOW_MS) return
    this.#overflowMs = nowMs
    this.announce({ kind: 'overflow' })
  }

  /** Something of this instance has changed that others may wait for. */
  changed(iid: Iid): void {
    this.changes.changed(iid)
    if (this.#hints !== undefined) this.#elsewhere.changed(iid)
  }

  /** This instance has ended, which is its last change. */
  ended(iid: Iid): void {
    this.changes.changed(iid)
    if (this.#hints !== undefined) this.#elsewhere.ended(iid)
  }
}
