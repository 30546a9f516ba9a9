import type { Clock } from '../../base/clock.ts'

/**
 * The store's time as this process estimates it between two answers.
 *
 * It only grows: a claim that was told "due" by the store must not find it "not yet due" here.
 */
export class StoreClock {
  readonly #clock: Clock
  #seenMs = 0
  #seenAtMs = 0
  #lastMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds since 1970 by the store's clock. */
  now(): number {
    const estimate = Math.floor(this.#seenMs + this.#clock.now() - this.#seenAtMs)
    this.#lastMs = Math.max(this.#lastMs, estimate)
    return this.#lastMs
  }

  /** An answer of the store carried its time. */
  saw(storeMs: number): void {
    this.#seenMs = storeMs
    this.#seenAtMs = this.#clock.now()
    this.#lastMs = Math.max(this.#lastMs, storeMs)
  }
}
