import type { Clock, Timer } from '../../base/time/clock.ts'

// Often while something is found, seldom while nothing is.
const SOONEST_LOOK_MS = 250
const LATEST_LOOK_MS = 5_000

/** What this needs. */
export interface PollHost {
  readonly clock: Clock
  /** Has everybody look who listens; answers whether anybody found something to do. */
  look(): Promise<boolean>
}

/** Looks that stand in for hints while none are heard, whatever the reason. */
export class FallbackPolls {
  readonly #host: PollHost
  #timer: Timer | undefined
  #everyMs = SOONEST_LOOK_MS
  #isOn = false

  constructor(host: PollHost) {
    this.#host = host
  }

  /** Hints are not heard: looks begin soon, or go on. */
  begin(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#everyMs = SOONEST_LOOK_MS
    this.#lookLater()
  }

  /** Hints are heard, or nobody listens any more. */
  end(): void {
    this.#isOn = false
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #lookLater(): void {
    this.#timer = this.#host.clock.after(this.#everyMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    const timer = this.#timer
    const found = await this.#host.look()
    // It may have ended meanwhile, and begun anew.
    if (this.#timer !== timer) return
    this.#everyMs = found ? SOONEST_LOOK_MS : Math.min(this.#everyMs * 2, LATEST_LOOK_MS)
    this.#lookLater()
  }
}
