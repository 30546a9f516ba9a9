// What hints may cost. Anybody who may connect to a database can send notifications there, so a
// hint is no proof of anything, and however many come, only so many looks may follow from them.
//
//   G1. A hint goes through at once while there is credit. Each takes one, and each look that found
//       something gives back what it found: hints that tell the truth are never held up.
//   G2. Without credit, hints are gathered into one of each kind, which goes through with the next
//       credit: found work brings one, and so does time. None is lost.
//   G3. What is gathered is bounded: too many instances become a look everywhere.

import type { Clock, Timer } from '../../../base/time/clock.ts'
import type { Hint } from '../../../store/hints.ts'
import type { TaskKey } from '../../../store/tasks.ts'

/** How many hints in vain are followed up at once. */
export const MAX_CREDIT = 100
/** How long it takes to regain one. */
export const CREDIT_MS = 50
const MAX_GATHERED = 5_000

/** Hints that lead to a look. */
export type WorkHint = Extract<Hint, { kind: 'work' | 'tasks' | 'dropped' | 'recalled' }>

/** Lets hints through, as often as they are worth it. */
export class HintGate {
  readonly #clock: Clock
  readonly #follow: (hint: WorkHint) => void
  #credit = MAX_CREDIT
  #countedMs: number
  #timer: Timer | undefined
  #gathered: Gathered | undefined

  /** `follow` looks at what a hint says. */
  constructor(clock: Clock, follow: (hint: WorkHint) => void) {
    this.#clock = clock
    this.#follow = follow
    this.#countedMs = clock.now()
  }

  /** Follows a hint up, now or soon. */
  hear(hint: WorkHint): void {
    if (this.#gathered === undefined && this.#take()) return this.#follow(hint)
    this.#gathered ??= new Gathered()
    this.#gathered.add(hint)
    this.#timer ??= this.#clock.after(CREDIT_MS, () => this.#release())
  }

  /** A look found so much to do. */
  found(count: number): void {
    if (count <= 0) return
    this.#credit = Math.min(MAX_CREDIT, this.#credit + count)
    if (this.#gathered !== undefined) this.#release()
  }

  /** What is gathered is followed up by nobody. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#gathered = undefined
  }

  #take(): boolean {
    const nowMs = this.#clock.now()
    const regained = Math.floor((nowMs - this.#countedMs) / CREDIT_MS)
    this.#countedMs += regained * CREDIT_MS
    this.#credit = Math.min(MAX_CREDIT, this.#credit + regained)
    if (this.#credit < 1) return false
    this.#credit--
    return true
  }

  #release(): void {
    const gathered = this.#gathered
    this.#timer?.cancel()
    this.#timer = undefined
    if (gathered === undefined) return
    if (!this.#take()) {
      this.#timer = this.#clock.after(CREDIT_MS, () => this.#release())
      return
    }
    this.#gathered = undefined
    for (const hint of gathered.hints()) this.#follow(hint)
  }
}

/** Hints that wait, as one of each kind. */
class Gathered {
  readonly #work = new Set<number>()
  readonly #recalled = new Set<number>()
  readonly #activities = new Set<string>()
  #dropped: TaskKey[] = []
  #everywhere = false
  #workAt = Infinity
  #tasksAt = Infinity
  #anyActivity = false

  add(hint: WorkHint): void {
    switch (hint.kind) {
      case 'work':
        if (hint.at > 0) this.#workAt = Math.min(this.#workAt, hint.at)
        else if (hint.iids.length === 0) this.#everywhere = true
        else for (const iid of hint.iids) this.#work.add(iid)
        break
      case 'tasks':
        this.#tasksAt = Math.min(this.#tasksAt, hint.at)
        if (hint.activities.length === 0) this.#anyActivity = true
        for (const name of hint.activities) this.#activities.add(name)
        break
      case 'dropped':
        // Those beyond are found by the tick.
        if (this.#dropped.length < MAX_GATHERED) this.#dropped = this.#dropped.concat(hint.tasks)
        break
      case 'recalled':
        if (this.#recalled.size < MAX_GATHERED) {
          for (const iid of hint.iids) this.#recalled.add(iid)
        }
    }
    if (this.#work.size > MAX_GATHERED) {
      this.#work.clear()
      this.#everywhere = true
    }
    if (this.#activities.size > MAX_GATHERED) {
      this.#activities.clear()
      this.#anyActivity = true
    }
  }

  *hints(): Iterable<WorkHint> {
    if (this.#recalled.size > 0) yield { kind: 'recalled', iids: [...this.#recalled] }
    if (this.#dropped.length > 0) yield { kind: 'dropped', tasks: this.#dropped }
    if (this.#work.size > 0) yield { kind: 'work', iids: [...this.#work], at: 0 }
    if (this.#everywhere) yield { kind: 'work', iids: [], at: 0 }
    if (this.#workAt < Infinity) yield { kind: 'work', iids: [], at: this.#workAt }
    if (this.#tasksAt < Infinity) {
      const activities = this.#anyActivity ? [] : [...this.#activities]
      yield { kind: 'tasks', activities, at: this.#tasksAt }
    }
  }
}
