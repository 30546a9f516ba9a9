import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { notify } from '../../../base/sync/notify.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { Pausing } from '../../replay/turn.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

// I/O of the process waits no longer than this for turns.
const SLICE_MS = 2

/** What the turner needs of its runtime. */
export interface TurnLoopHost {
  readonly clock: Clock
  readonly log: Logger
  /** Takes the turn of a copy and hands what came out to the committer. Never throws. */
  turn(instance: LiveInstance): Pausing<void>
  /** A slice of turns is over: what gathered may go. */
  turnsTaken(): void
}

/** Gives copies their turns, one at a time, in the order they became ready. */
export class TurnLoop {
  readonly #host: TurnLoopHost
  readonly #wake = notify()
  #ready: LiveInstance[] = []
  #next = 0

  constructor(host: TurnLoopHost) {
    this.#host = host
  }

  get size(): number {
    return this.#ready.length - this.#next
  }

  /** Puts a copy in line for a turn, unless it is in line, in commit, or gone. */
  enqueue(instance: LiveInstance): void {
    if (instance.state !== 'resting') return
    instance.state = 'ready'
    this.#ready.push(instance)
    this.#wake.notifyOne()
  }

  work(): Worker {
    const { clock, log } = this.#host
    const pacing = { min: 0, active: 0, step: 0 }
    return worker('turns', { wakeOn: [this.#wake], clock, log, pacing }, () => this.#pass())
  }

  async #pass(): Promise<Directive> {
    const until = this.#host.clock.now() + SLICE_MS
    while (this.#next < this.#ready.length) {
      const instance = this.#ready[this.#next++]!
      if (instance.state === 'ready') {
        // Here, and not in a function of its own: that would be one more promise for every turn.
        const turn = this.#host.turn(instance)
        for (let step = turn.next(); step.done !== true; step = turn.next()) await step.value
      }
      if (this.#host.clock.now() >= until) break
    }
    // Also while more keep coming, those who had their turn are let go.
    if (this.#next * 2 >= this.#ready.length) {
      this.#ready = this.#ready.slice(this.#next)
      this.#next = 0
    }
    this.#host.turnsTaken()
    return this.size > 0 ? proceed() : idle()
  }
}
