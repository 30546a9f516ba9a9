import type { Clock, Timer } from '../../base/time/clock.ts'

// Often while polls find something, rarely while they do not.
const SOONEST_LOOK_MS = 250
const LATEST_LOOK_MS = 5_000

/** What `FallbackPolls` needs. */
export interface PollHost {
  readonly clock: Clock
  /** Polls for every listener; resolves to whether any of them found something to do. */
  look(): Promise<boolean>
}

/** Polls the store while notifications do not arrive, whatever the reason. */
export class FallbackPolls {
  readonly #host: PollHost
  #timer: Timer | undefined
  #everyMs = SOONEST_LOOK_MS
  #isOn = false

  constructor(host: PollHost) {
    this.#host = host
  }

  /** Notifications do not arrive: starts polling soon, or goes on. */
  begin(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#everyMs = SOONEST_LOOK_MS
    this.#lookLater()
  }

  /** Notifications arrive, or there are no listeners left. */
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
    // Polling may have ended meanwhile, and begun again.
    if (this.#timer !== timer) return
    this.#everyMs = found ? SOONEST_LOOK_MS : Math.min(this.#everyMs * 2, LATEST_LOOK_MS)
    this.#lookLater()
  }
}
