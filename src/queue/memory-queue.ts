import { type Clock, systemClock } from '../base/time/clock.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import { having, option, resolveOptions } from '../base/options.ts'
import { type Place, Waiters } from '../base/sync/waiters.ts'
import type { Wait } from './queue.ts'
import { waitOf } from './wait-options.ts'

const POLL_MS = 100

const pollWait = waitOf('queue poll')

/** A first-in, first-out queue in memory. Everything in it ends with the process. */
export class MemoryQueue<T> {
  readonly #clock: Clock
  readonly #waiters = new Waiters<(item: T) => void>()
  /** What was pushed to the front, the first last. */
  readonly #front: T[] = []
  #back: T[] = []
  /** How many of `#back` have left. */
  #taken = 0

  /** Tests give a clock of their own. */
  constructor(options: { clock?: Clock } = {}) {
    const { clock } = resolveOptions('MemoryQueue', options, {
      clock: option(having<Clock>('a clock', ['now', 'date', 'after', 'yield']), undefined),
    })
    this.#clock = clock ?? systemClock()
  }

  /** Adds an item at the back, or hands it to the longest waiting `poll`. */
  push(item: T): void {
    if (!this.#handOver(item)) this.#back.push(item)
  }

  /** Adds an item at the front, or hands it to the longest waiting `poll`. */
  pushFront(item: T): void {
    if (!this.#handOver(item)) this.#front.push(item)
  }

  /** Takes the first item, if there is one. */
  pop(): T | undefined {
    if (this.#front.length > 0) return this.#front.pop()
    if (this.#taken === this.#back.length) return undefined
    const item = this.#back[this.#taken]!
    // What left must not be kept alive; the list is cut when half of it is empty.
    this.#back[this.#taken++] = undefined as T
    if (this.#taken * 2 > this.#back.length) {
      this.#back = this.#back.slice(this.#taken)
      this.#taken = 0
    }
    return item
  }

  /**
   * Takes the first item, or waits for one: 100 ms, or `timeout`. Rejects with the reason of the
   * signal when that aborts first.
   */
  async poll(options: Wait = {}): Promise<T | undefined> {
    const { timeoutMs = POLL_MS, signal } = pollWait(options)
    signal?.throwIfAborted()
    if (this.length > 0) return this.pop()
    return this.#wait(timeoutMs, signal)
  }

  get length(): number {
    return this.#front.length + this.#back.length - this.#taken
  }

  get isEmpty(): boolean {
    return this.length === 0
  }

  #handOver(item: T): boolean {
    const waiter = this.#waiters.shift()
    waiter?.(item)
    return waiter !== undefined
  }

  #wait(ms: number, signal: AbortSignal | undefined): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#waiters.remove(place)
        timer.cancel()
        stopListening?.()
      }
      const timer = this.#clock.after(ms, () => {
        end()
        resolve(undefined)
      })
      const place: Place<(item: T) => void> = this.#waiters.add((item) => {
        end()
        resolve(item)
      })
      const stopListening =
        signal &&
        onAbort(signal, () => {
          end()
          reject(signal.reason as Error)
        })
    })
  }
}
