import type { Clock, Timer } from '../../base/time/clock.ts'
import { Heap } from '../../base/heap.ts'
import type { StoreClock } from './store-clock.ts'

/** Something that is to happen at a moment of the store's time. */
export interface Alarm {
  ring(): void
}

/** Any number of alarms on one timer. */
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

  /** Sets an alarm; one that is set already rings at the earlier of the two moments. */
  set(alarm: Alarm, at: number): void {
    this.#heap.add(alarm, at)
    if (at < this.#timerAt) this.#arm()
  }

  cancel(alarm: Alarm): void {
    this.#heap.delete(alarm)
  }

  /** Cancels everything. */
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
