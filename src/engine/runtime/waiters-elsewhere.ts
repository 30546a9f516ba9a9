import type { Clock } from '../../base/clock.ts'
import { Recent } from '../../base/recent.ts'
import type { News } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'

// Longer than whoever waits takes to say so again.
const REMEMBERED_MS = 60_000
// Who says that it waits may have looked just before something changed.
const JUST_NOW_MS = 1_000

/** Who waits in other processes for changes of which instances. */
export class WaitersElsewhere {
  readonly #tell: (news: News) => void
  readonly #waiting: Recent<Iid, ReadonlySet<string>>
  readonly #changed: Recent<Iid, true>

  constructor(clock: Clock, tell: (news: News) => void) {
    this.#tell = tell
    this.#waiting = new Recent(clock, REMEMBERED_MS)
    this.#changed = new Recent(clock, JUST_NOW_MS)
  }

  /** Those at `to` want to be told of changes of these. */
  wait(to: string, iids: readonly Iid[]): void {
    for (const iid of iids) {
      // All are set anew, so that nobody is forgotten too early; too late does no harm.
      this.#waiting.set(iid, new Set([...(this.#waiting.get(iid) ?? []), to]))
    }
    const late = iids.filter((iid) => this.#changed.get(iid) !== undefined)
    if (late.length > 0) this.#tell({ kind: 'changed', to, iids: late })
  }

  /** Something of this instance has changed that others may wait for. */
  changed(iid: Iid): void {
    this.#changed.set(iid, true)
    if (this.#waiting.isEmpty) return
    for (const to of this.#waiting.get(iid) ?? []) this.#tell({ kind: 'changed', to, iids: [iid] })
  }
}
