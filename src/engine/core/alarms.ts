import type { Clock, Timer } from '../../base/time/clock.ts'
import { Heap } from '../../base/heap.ts'
import type { StoreClock } from './store-clock.ts'

/** Something to do at a certain store time. */
export interface Alarm {
  ring(): void
}

/** Any number of alarms, driven by a single timer. */
export class Alarms {
  readonly #clock: Clock
  readonly #time: StoreClock
  readonly #heap = new Heap<Alarm>()
  #timer: Timer | undefined
  #timerAt = Infinity

  constructor(clock: Clock, time: StoreClock) {
    this.#clock = clock
    this.#time = time
  }

  /** Sets an alarm. An alarm that is already set rings at the earlier of the two times. */
  set(alarm: Alarm, at: number): void {
    this.#heap.add(alarm, at)
    if (at < this.#timerAt) this.#arm()
  }

  /** The store's clock was set forward: alarms ring sooner than the timer was set for. */
  rearm(): void {
    if (this.#timerAt < Infinity) this.#arm()
  }

  cancel(alarm: Alarm): void {
    this.#heap.delete(alarm)
  }

  /** Cancels all alarms. */
  clear(): void {
    this.#heap.clear()
    this.#timer?.cancel()
    this.#timerAt = Infinity
  }

  #arm(): void {
    this.#timer?.cancel()
    const next = this.#heap.peek()
    this.#timerAt = next?.at ?? Infinity
    if (next === undefined) return
    this.#timer = this.#clock.after(Math.max(0, next.at - this.#time.now()), () => this.#ring())
  }

  #ring(): void {
    const now = this.#time.now()
    for (let next = this.#heap.peek(); next !== undefined && next.at <= now;) {
      this.#heap.pop()
      next.key.ring()
      next = this.#heap.peek()
    }
    this.#timerAt = Infinity
    this.#arm()
  }
}
