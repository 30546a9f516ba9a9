// Waiting for what happens to instances in other processes.
//
//   Those who run them are told who waits, and tell them when something has changed. That they may
//   forget, or never have heard it, costs time only: everybody who waits also looks now and then.

import type { Clock, Timer } from '../../base/clock.ts'
import type { Hint, News } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'

// Who runs instances remembers for a minute at least who waits for them.
const RENEW_MS = 30_000
// When anything may have changed, all look: the more there are, the more seldom.
const SOONEST_LOOK_MS = 5
const LOOKS_PER_MS = 10

/** What this needs. */
export interface RemoteNewsHost {
  readonly clock: Clock
  tell(news: News): void
  /** Whether hints are heard at present. */
  hears(): boolean
}

/** Who waits in this process for changes of which instances. */
export class RemoteNews {
  readonly #host: RemoteNewsHost
  readonly #waiting = new Map<Iid, Set<() => void>>()
  readonly #unannounced = new Set<Iid>()
  #renewal: Timer | undefined
  #lookedMs = -Infinity
  #look: Timer | undefined

  constructor(host: RemoteNewsHost) {
    this.#host = host
  }

  /** Whether changes are told of, so that looking often would be in vain. */
  get areTold(): boolean {
    return this.#host.hears()
  }

  /** Waits for changes of an instance, each of them. Call the result to stop. */
  wait(iid: Iid, told: () => void): () => void {
    let all = this.#waiting.get(iid)
    if (all === undefined) {
      all = new Set()
      this.#waiting.set(iid, all)
      this.#announce([iid])
    }
    const waiters = all
    waiters.add(told)
    return () => {
      if (!waiters.delete(told) || waiters.size > 0) return
      this.#waiting.delete(iid)
      if (this.#waiting.size === 0) this.close()
    }
  }

  /** An instance of this process has changed. */
  changed(iid: Iid): void {
    this.#tell([iid])
  }

  /** Follows up what was heard. */
  hear(hint: Hint): void {
    switch (hint.kind) {
      case 'changed':
        if (hint.iids.length === 0) return this.#tellAllSoon()
        return this.#tell(hint.iids)
      case 'recalled':
        return this.#tell(hint.iids)
      case 'joined':
        return this.#announce(this.#waiting.keys())
      case 'work':
      case 'tasks':
      case 'dropped':
      case 'waiting':
    }
  }

  /** Hints are heard from now on, and were not before. */
  heardAgain(): void {
    this.#announce(this.#waiting.keys())
    this.#tell([...this.#waiting.keys()])
  }

  /** Nothing is announced any more. */
  close(): void {
    this.#unannounced.clear()
    this.#renewal?.cancel()
    this.#renewal = undefined
    this.#look?.cancel()
    this.#look = undefined
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
      if (announced.length === 0 || !this.#host.hears()) return
      this.#host.tell({ kind: 'waiting', iids: announced })
      this.#renewal ??= this.#host.clock.after(RENEW_MS, () => {
        this.#renewal = undefined
        this.#announce(this.#waiting.keys())
      })
    })
  }

  #tell(iids: readonly Iid[]): void {
    for (const iid of iids) {
      for (const told of this.#waiting.get(iid) ?? []) told()
    }
  }

  #tellAllSoon(): void {
    if (this.#look !== undefined || this.#waiting.size === 0) return
    const { clock } = this.#host
    const pauseMs = SOONEST_LOOK_MS + this.#waiting.size / LOOKS_PER_MS
    this.#look = clock.after(Math.max(0, this.#lookedMs + pauseMs - clock.now()), () => {
      this.#look = undefined
      this.#lookedMs = clock.now()
      this.#tell([...this.#waiting.keys()])
    })
  }
}
