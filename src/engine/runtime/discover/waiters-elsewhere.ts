// Which other processes wait for changes of which instances.
//
//   - A process that waits says so every 30 s, so it is remembered a little longer than that: for
//     three to four shares of 15 s. The oldest share is dropped as a whole.
//   - The end of an instance is its last change: those that waited for it are forgotten.
//   - What is remembered is bounded: the oldest goes first. A process that was forgotten finds the
//     change by polling, a little later.

import type { Clock } from '../../../base/time/clock.ts'
import { Recent } from './recent.ts'
import type { Announcement } from '../../../store/hints.ts'
import type { Iid } from '../../../store/instances.ts'

const SHARE_MS = 15_000
const SHARES = 4
const MAX_IN_SHARE = 50_000
// More than this for one instance would flood the server at each of its changes.
const MAX_LISTENERS = 1_000
// A process that begins to wait may have looked just before something changed.
const JUST_NOW_MS = 1_000

/** Addresses of the processes that wait for an instance: usually one. */
type Listeners = string | Set<string>

/** Which processes began to wait within some time, and how many pairs of instance and process. */
interface Share {
  readonly listeners: Map<Iid, Listeners>
  pairs: number
}

/** Sends to other processes. */
export interface NewsSender {
  readonly clock: Clock
  announce(announcement: Announcement): void
}

/** Remembers which other processes wait for changes of which instances, and notifies them. */
export class WaitersElsewhere {
  readonly #clock: Clock
  readonly #sender: NewsSender
  /** The newest share first. */
  #shares: Share[] = [newShare()]
  #begunMs: number
  readonly #changed: Recent<Iid, true>

  constructor(sender: NewsSender) {
    this.#clock = sender.clock
    this.#sender = sender
    this.#begunMs = this.#clock.now()
    this.#changed = new Recent(this.#clock, JUST_NOW_MS)
  }

  /** How many pairs of instance and process are remembered, each for every share that it is in. */
  get size(): number {
    return this.#shares.reduce((sum, { pairs }) => sum + pairs, 0)
  }

  /** The processes at `to` wait for changes of these instances. */
  wait(to: string, iids: readonly Iid[]): void {
    this.#turn()
    for (const iid of iids) this.#add(iid, to)
    const late = iids.filter((iid) => this.#changed.get(iid) !== undefined)
    if (late.length > 0) this.#sender.announce({ kind: 'changed', to, iids: late })
  }

  /** Something of this instance has changed that other processes may wait for. */
  changed(iid: Iid): void {
    this.#turn()
    this.#changed.set(iid, true)
    for (const to of this.#listeners(iid))
      this.#sender.announce({ kind: 'changed', to, iids: [iid] })
  }

  /** This instance has ended. */
  ended(iid: Iid): void {
    this.changed(iid)
    for (const share of this.#shares) {
      const some = share.listeners.get(iid)
      if (some === undefined) continue
      share.listeners.delete(iid)
      share.pairs -= typeof some === 'string' ? 1 : some.size
    }
  }

  #listeners(iid: Iid): Set<string> {
    const all = new Set<string>()
    for (const share of this.#shares) {
      const some = share.listeners.get(iid)
      if (typeof some === 'string') all.add(some)
      else for (const to of some ?? []) all.add(to)
    }
    return all
  }

  #add(iid: Iid, to: string): void {
    const share = this.#shares[0]!
    const { listeners } = share
    const before = listeners.get(iid)
    if (before === to || (before instanceof Set && before.has(to))) return
    if (share.pairs >= MAX_IN_SHARE) {
      this.#nextShare()
      return this.#add(iid, to)
    }
    if (before === undefined) listeners.set(iid, to)
    else if (typeof before === 'string') listeners.set(iid, new Set([before, to]))
    else if (before.size < MAX_LISTENERS) before.add(to)
    else return
    share.pairs++
  }

  #turn(): void {
    const nowMs = this.#clock.now()
    const over = Math.floor((nowMs - this.#begunMs) / SHARE_MS)
    for (let i = 0; i < Math.min(over, SHARES); i++) this.#nextShare()
    if (over > 0) this.#begunMs = nowMs
  }

  #nextShare(): void {
    this.#shares = [newShare(), ...this.#shares.slice(0, SHARES - 1)]
  }
}

function newShare(): Share {
  return { listeners: new Map(), pairs: 0 }
}
