// Bounds the cost of hints. Every user of the database can send notifications, so a hint proves nothing,
// and any number of them may cause only a limited number of queries.
//
//   - A hint passes at once while there is credit. Each costs one credit, and each query that finds
//     work gives back as many as it found: hints that are true are never delayed.
//   - Without credit, hints are gathered into one of each kind, which passes with the next credit:
//     found work brings credit, and so does time. None is lost.
//   - What is gathered is bounded: too many instances become one query for everything.

import type { Clock, Timer } from '../../../base/time/clock.ts'
import type { Hint } from '../../../store/hints.ts'
import type { TaskKey } from '../../../store/tasks.ts'

/** How many hints that turn out to be wrong are followed at once. */
export const MAX_CREDIT = 100
/** How long it takes to regain one. */
export const CREDIT_MS = 50
const MAX_GATHERED = 5_000

/** Hints that lead to a query. */
export type WorkHint = Extract<Hint, { kind: 'work' | 'tasks' | 'dropped' | 'recalled' }>

/** Where hints go that pass the gate. */
export interface GateFollower {
  follow(hint: WorkHint): void
}

/** Lets hints pass as often as following them finds work. */
export class HintGate {
  readonly #clock: Clock
  #follower: GateFollower | undefined
  #credit = MAX_CREDIT
  #countedMs: number
  #timer: Timer | undefined
  #gathered: Gathered | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#countedMs = clock.now()
  }

  /** Lets hints pass to this one from now on. */
  open(follower: GateFollower): void {
    this.#follower = follower
  }

  /** Passes a hint on, now or soon. */
  receive(hint: WorkHint): void {
    if (this.#gathered === undefined && this.#take()) return this.#follower?.follow(hint)
    this.#gathered ??= new Gathered()
    this.#gathered.add(hint)
    this.#timer ??= this.#clock.after(CREDIT_MS, () => this.#release())
  }

  /** A query found this much work. */
  found(count: number): void {
    if (count <= 0) return
    this.#credit = Math.min(MAX_CREDIT, this.#credit + count)
    if (this.#gathered !== undefined) this.#release()
  }

  /** Drops what is gathered. */
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
    for (const hint of gathered.hints()) this.#follower?.follow(hint)
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
        // The tick finds the others.
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
