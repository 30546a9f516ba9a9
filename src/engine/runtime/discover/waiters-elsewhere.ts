// Who waits in other processes for changes of which instances.
//
//   R1. Who waits says so every half a minute, so what was said is remembered a little longer than that,
//       for three to four shares of a quarter of a minute; the oldest share goes as a whole.
//   R2. The end of an instance is its last change: who waited for it is forgotten with it.
//   R3. What is remembered is bounded, whoever says how much: the oldest goes first. Whoever is
//       forgotten looks by itself, a little later.

import type { Clock } from '../../../base/time/clock.ts'
import { Recent } from './recent.ts'
import type { News } from '../../../store/hints.ts'
import type { Iid } from '../../../store/instances.ts'

const SHARE_MS = 15_000
const SHARES = 4
const MAX_IN_SHARE = 50_000
// More than this for one instance would make each of its changes a storm.
const MAX_LISTENERS = 1_000
// Who says that it waits may have looked just before something changed.
const JUST_NOW_MS = 1_000

/** Those who wait for an instance: mostly one. */
type Listeners = string | Set<string>

/** Who has said within some time that it waits, and how many pairs of instance and listener that is. */
interface Share {
  readonly listeners: Map<Iid, Listeners>
  pairs: number
}

/** Who waits in other processes for changes of which instances. */
export class WaitersElsewhere {
  readonly #clock: Clock
  readonly #tell: (news: News) => void
  /** The newest share first. */
  #shares: Share[] = [newShare()]
  #begunMs: number
  readonly #changed: Recent<Iid, true>

  constructor(clock: Clock, tell: (news: News) => void) {
    this.#clock = clock
    this.#tell = tell
    this.#begunMs = clock.now()
    this.#changed = new Recent(clock, JUST_NOW_MS)
  }

  /** How many pairs of instance and listener are remembered, each for every share that it is in. */
  get size(): number {
    return this.#shares.reduce((sum, { pairs }) => sum + pairs, 0)
  }

  /** Those at `to` want to be told of changes of these. */
  wait(to: string, iids: readonly Iid[]): void {
    this.#turn()
    for (const iid of iids) this.#add(iid, to)
    const late = iids.filter((iid) => this.#changed.get(iid) !== undefined)
    if (late.length > 0) this.#tell({ kind: 'changed', to, iids: late })
  }

  /** Something of this instance has changed that others may wait for. */
  changed(iid: Iid): void {
    this.#turn()
    this.#changed.set(iid, true)
    for (const to of this.#listeners(iid)) this.#tell({ kind: 'changed', to, iids: [iid] })
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
