import type { Clock, Timer } from '../../base/time/clock.ts'

// Often while polls find something, rarely while they do not.
const MIN_POLL_MS = 250
const MAX_POLL_MS = 5_000

/** What `FallbackPolls` needs. */
export interface PollHost {
  readonly clock: Clock
  /** Polls for every listener; resolves to whether any of them found something to do. */
  poll(): Promise<boolean>
}

/** Polls the store while notifications do not arrive, whatever the reason. */
export class FallbackPolls {
  readonly #host: PollHost
  #timer: Timer | undefined
  #everyMs = MIN_POLL_MS
  #isOn = false

  constructor(host: PollHost) {
    this.#host = host
  }

  /** Notifications do not arrive: starts polling soon, or continues. */
  begin(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.#everyMs = MIN_POLL_MS
    this.#pollLater()
  }

  /** Notifications arrive, or there are no listeners left. */
  end(): void {
    this.#isOn = false
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #pollLater(): void {
    this.#timer = this.#host.clock.after(this.#everyMs, () => void this.#poll())
  }

  async #poll(): Promise<void> {
    const timer = this.#timer
    const found = await this.#host.poll()
    // Polling may have ended meanwhile, and begun again.
    if (this.#timer !== timer) return
    this.#everyMs = found ? MIN_POLL_MS : Math.min(this.#everyMs * 2, MAX_POLL_MS)
    this.#pollLater()
  }
}
