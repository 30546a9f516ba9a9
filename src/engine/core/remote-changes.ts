// Waiting for what happens to instances in other processes.
//
//   Those who run them are told who waits, and tell them when something has changed. That they may
//   forget, or never have heard it, costs time only: everybody who waits also looks now and then.
//   And that anybody can say that something has changed, or that they have joined, costs little: what
//   follows from it comes with pauses between.

import type { Clock, Timer } from '../../base/time/clock.ts'
import { Throttle } from '../../base/time/throttle.ts'
import type { Hint, News } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'

// Who runs instances remembers for a minute at least who waits for them.
const RENEW_MS = 30_000
// When anything may have changed, all look: the more there are, the more seldom.
const SOONEST_LOOK_MS = 5
const LOOKS_PER_MS = 10
// An instance that is said to change again and again is looked at with longer and longer pauses, until
// it is quiet for a while.
const MAX_POLL_MS = 100
const QUIET_MS = 1_000
// Those who join at the same time are told at once who waits.
const JOIN_MS = 1_000

/** What this needs. */
export interface RemoteChangesHost {
  readonly clock: Clock
  tell(news: News): void
  /** Whether hints are heard at present. */
  isListening(): boolean
}

/** An instance whose changes are waited for. */
interface WatchedInstance {
  readonly listeners: Set<() => void>
  readonly hints: Throttle
  pauseMs: number
}

/** Who waits in this process for changes of which instances. */
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

  /** Whether changes are told of, so that looking often would be in vain. */
  get isLive(): boolean {
    return this.#host.isListening()
  }

  /** Waits for changes of an instance, each of them. Call the result to stop. */
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

  /** Follows up what was heard. */
  hear(hint: Hint): void {
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
      case 'dropped':
      case 'waiting':
    }
  }

  /** Hints are heard from now on, and were not before. */
  resumed(): void {
    this.#announce(this.#waiting.keys())
    this.#notify([...this.#waiting.keys()])
  }

  /** Nothing is announced any more. */
  close(): void {
    this.#unannounced.clear()
    this.#renewal?.cancel()
    this.#renewal = undefined
    this.#looks.cancel()
    this.#joins.cancel()
    for (const { hints } of this.#waiting.values()) hints.cancel()
  }

  /** Says who waits, together with all that is said in the same moment. */
  #announce(iids: Iterable<Iid>): void {
    const begins = this.#unannounced.size === 0
    for (const iid of iids) this.#unannounced.add(iid)
    if (!begins || this.#unannounced.size === 0) return
    queueMicrotask(() => {
      const announced = [...this.#unannounced].filter((iid) => this.#waiting.has(iid))
      this.#unannounced.clear()
      // Otherwise all are announced as soon as the answer would be heard.
      if (announced.length === 0 || !this.#host.isListening()) return
      this.#host.tell({ kind: 'waiting', iids: announced })
      this.#renewal ??= this.#host.clock.after(RENEW_MS, () => {
        this.#renewal = undefined
        this.#announce(this.#waiting.keys())
      })
    })
  }

  #notify(iids: readonly Iid[]): void {
    for (const iid of iids) {
      for (const listener of this.#waiting.get(iid)?.listeners ?? []) listener()
    }
  }

  /** Somebody says that these have changed. */
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
