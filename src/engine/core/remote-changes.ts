// Waits for changes of instances that other processes run.
//
//   - This process announces which instances it waits for, and the runtimes that own them notify it of
//     changes. A lost or forgotten announcement costs only time, because every wait also polls.
//   - Any process can claim that something has changed, or that it has joined. Throttles bound the cost
//     of that.

import type { Clock, Timer } from '../../base/time/clock.ts'
import { Throttle } from '../../base/time/throttle.ts'
import type { Hint, Announcement } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'

// Runtimes remember an announcement for at least a minute.
const RENEW_MS = 30_000
// When anything may have changed, all waits poll: the more there are, the less often.
const SOONEST_LOOK_MS = 5
const LOOKS_PER_MS = 10
// An instance that keeps changing is polled with growing pauses, until it is quiet for a while.
const MAX_POLL_MS = 100
const QUIET_MS = 1_000
// One announcement serves all processes that join within this time.
const JOIN_MS = 1_000

/** What this needs. */
export interface RemoteChangesHost {
  readonly clock: Clock
  announce(announcement: Announcement): void
  /** Whether hints arrive at present. */
  isListening(): boolean
}

/** An instance that has listeners. */
interface WatchedInstance {
  readonly listeners: Set<() => void>
  readonly hints: Throttle
  pauseMs: number
}

/** Listeners of this process for changes of instances that others run. */
export class RemoteChanges {
  readonly #host: RemoteChangesHost
  readonly #waiting = new Map<Iid, WatchedInstance>()
  readonly #unannounced = new Set<Iid>()
  readonly #looks: Throttle
  readonly #joins: Throttle
  #renewal: Timer | undefined

  constructor(host: RemoteChangesHost) {
    this.#host = host
    this.#looks = new Throttle(host.clock, () => this.#notify([...this.#waiting.keys()]))
    this.#joins = new Throttle(host.clock, () => this.#announce(this.#waiting.keys()))
  }

  /** Whether notifications arrive at present, so that frequent polling is unnecessary. */
  get isLive(): boolean {
    return this.#host.isListening()
  }

  /** Adds a listener for every change of an instance. Call the result to remove it. */
  subscribe(iid: Iid, listener: () => void): () => void {
    let watched = this.#waiting.get(iid)
    if (watched === undefined) {
      watched = this.#watch(iid)
      this.#announce([iid])
    }
    const { listeners, hints } = watched
    listeners.add(listener)
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return
      hints.cancel()
      this.#waiting.delete(iid)
      if (this.#waiting.size === 0) this.close()
    }
  }

  #watch(iid: Iid): WatchedInstance {
    const hints = new Throttle(this.#host.clock, () => {
      watched.pauseMs = Math.min(Math.max(2 * watched.pauseMs, SOONEST_LOOK_MS), MAX_POLL_MS)
      this.#notify([iid])
    })
    const watched: WatchedInstance = { listeners: new Set(), hints, pauseMs: 0 }
    this.#waiting.set(iid, watched)
    return watched
  }

  /** An instance of this process has changed. */
  changed(iid: Iid): void {
    this.#notify([iid])
  }

  /** Handles a hint of another process. */
  receive(hint: Hint): void {
    switch (hint.kind) {
      case 'changed':
        if (hint.iids.length === 0) return this.#notifyAllSoon()
        return this.#notifySoon(hint.iids)
      case 'recalled':
        return this.#notifySoon(hint.iids)
      case 'joined':
        if (this.#waiting.size > 0) this.#joins.request(JOIN_MS)
        return
      case 'work':
      case 'tasks':
      case 'schedules':
      case 'dropped':
      case 'waiting':
      case 'messages':
    }
  }

  /** Announces and notifies everything anew, because hints arrive again after an interruption. */
  resumed(): void {
    this.#announce(this.#waiting.keys())
    this.#notify([...this.#waiting.keys()])
  }

  /** Announces nothing more. */
  close(): void {
    this.#unannounced.clear()
    this.#renewal?.cancel()
    this.#renewal = undefined
    this.#looks.cancel()
    this.#joins.cancel()
    for (const { hints } of this.#waiting.values()) hints.cancel()
  }

  /** Announces instances, together with all others of the same tick. */
  #announce(iids: Iterable<Iid>): void {
    const begins = this.#unannounced.size === 0
    for (const iid of iids) this.#unannounced.add(iid)
    if (!begins || this.#unannounced.size === 0) return
    queueMicrotask(() => {
      const announced = [...this.#unannounced].filter((iid) => this.#waiting.has(iid))
      this.#unannounced.clear()
      // While no hints arrive, announcing is useless: `resumed` announces everything later.
      if (announced.length === 0 || !this.#host.isListening()) return
      this.#host.announce({ kind: 'waiting', iids: announced })
      const renew = (): void => {
        this.#renewal = undefined
        this.#announce(this.#waiting.keys())
      }
      this.#renewal ??= this.#host.clock.after(RENEW_MS, renew, 'interval')
    })
  }

  #notify(iids: readonly Iid[]): void {
    for (const iid of iids) {
      for (const listener of this.#waiting.get(iid)?.listeners ?? []) listener()
    }
  }

  /** Notifies the listeners of these instances, with pauses for those that change often. */
  #notifySoon(iids: readonly Iid[]): void {
    for (const iid of iids) {
      const watched = this.#waiting.get(iid)
      if (watched === undefined) continue
      if (watched.hints.agoMs > QUIET_MS) watched.pauseMs = 0
      watched.hints.request(watched.pauseMs)
    }
  }

  #notifyAllSoon(): void {
    if (this.#waiting.size === 0) return
    this.#looks.request(SOONEST_LOOK_MS + this.#waiting.size / LOOKS_PER_MS)
  }
}
