import type { Clock } from '../../base/time/clock.ts'

// By how much two clocks may drift apart, as a share of the time that passes.
const MOST_DRIFT = 1e-4
// Longer than this no answer is trusted more than a later one: somebody may have set a clock.
const LONGEST_TRUST_MS = 30_000
// A clock that goes back by more than this was set.
const STEP_MS = 1_000
// The store's time comes without its fraction.
const FRACTION_MS = 1

/**
 * The store's time as this process estimates it between two answers.
 *
 *   K1. It only grows: a claim that was told "due" by the store must not find it "not yet due" here.
 *       But where the store's clock was set back by more than a moment, it follows: otherwise it would
 *       stand still for as long, and all that waits with it.
 *   K2. It lags behind the store's clock: an answer is on its way, and may have waited for a disk,
 *       since the store read its clock. Of several answers the one that took least says most; what a
 *       slower one says is less, not different. It leads only when a clock was set, by no more than
 *       the way of an answer, and not for long.
 *   K3. What an answer proves wrong is given up: the store cannot be further than it was when the
 *       question left and all of the time since has passed.
 */
export class StoreClock {
  /** Told when the store's clock was set back by more than a moment. */
  onStepBack: (() => void) | undefined
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

  /** An answer of the store carried its time; it was asked at `askedMs` of the process's clock. */
  saw(storeMs: number, askedMs = this.#clock.now()): void {
    const nowMs = this.#clock.now()
    const agoMs = nowMs - this.#seenAtMs
    const estimate = this.#seenMs + agoMs
    const isBetter = storeMs >= estimate - agoMs * MOST_DRIFT
    const isDisproved = estimate > storeMs + FRACTION_MS + (nowMs - askedMs)
    const mostMs = storeMs + STEP_MS + (nowMs - askedMs)
    const isSet = this.#seenMs > 0 && Math.max(estimate, this.#lastMs) > mostMs
    if (isBetter || isDisproved || agoMs > LONGEST_TRUST_MS) {
      this.#seenMs = storeMs
      this.#seenAtMs = nowMs
    }
    this.#lastMs = isSet ? storeMs : Math.max(this.#lastMs, storeMs)
    if (isSet) this.onStepBack?.()
  }
}
