import type { Clock } from '../../base/time/clock.ts'

// How far two clocks may drift apart, as a share of the time that passes.
const MAX_DRIFT = 1e-4
// An older answer counts for no more than a later one: a clock may have been set.
const MAX_TRUST_MS = 30_000
// A clock that jumps by more than this has been set.
const STEP_MS = 1_000
// The store reports whole milliseconds.
const FRACTION_MS = 1

/**
 * Estimates the store's time between two answers.
 *
 *   - It only grows: what the store reports as due must be due here as well. If the store's clock is set
 *     back by more than a moment, the estimate follows; otherwise it would stop for as long, and every
 *     timer with it.
 *   - It lags behind the store's clock, because the answer takes time after the store read its clock.
 *     The fastest answer is the most precise; a slower one only gives a lower bound. The estimate leads
 *     only when a clock was set, by no more than one round trip, and not for long.
 *   - It drops an estimate that an answer disproves: the store's time cannot be later than its answer
 *     plus the duration of the whole call.
 */
export class StoreClock {
  /** Called when the store's clock was set back by more than a moment. */
  onStepBack: (() => void) | undefined
  /** Called when it was set forward: what waits until a certain time has to wait less. */
  onStepForward: (() => void) | undefined
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

  /** Learns the store's time from an answer; the call began at `askedMs` by the process's clock. */
  saw(storeMs: number, askedMs = this.#clock.now()): void {
    const nowMs = this.#clock.now()
    const agoMs = nowMs - this.#seenAtMs
    const estimate = this.#seenMs + agoMs
    const isBetter = storeMs >= estimate - agoMs * MAX_DRIFT
    const isDisproved = estimate > storeMs + FRACTION_MS + (nowMs - askedMs)
    const maxMs = storeMs + STEP_MS + (nowMs - askedMs)
    const isSet = this.#seenMs > 0 && Math.max(estimate, this.#lastMs) > maxMs
    const isSetForward = this.#seenMs > 0 && storeMs > estimate + STEP_MS
    if (isBetter || isDisproved || agoMs > MAX_TRUST_MS) {
      this.#seenMs = storeMs
      this.#seenAtMs = nowMs
    }
    this.#lastMs = isSet ? storeMs : Math.max(this.#lastMs, storeMs)
    if (isSet) this.onStepBack?.()
    else if (isSetForward) this.onStepForward?.()
  }
}
