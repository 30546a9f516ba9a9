// Reads what there is to do when another process may have written something. It takes a small share of the
// time, however much others commit.

import type { Clock, Timer } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'

// Reading may take at most one part in this many of the time.
const SHARE = 20
// A read counts as at most this long.
const MAX_COST_MS = 0.25

/** Asks soon after it was called for; whatever comes meanwhile is asked for once more. */
export class Asking {
  readonly #ask: () => Promise<void>
  readonly #clock: Clock
  readonly #log: Logger
  #isAsking = false
  #asksAgain = false
  #pause: Timer | undefined
  #closed = false

  constructor({ clock, log }: { clock: Clock; log: Logger }, ask: () => Promise<void>) {
    this.#clock = clock
    this.#log = log
    this.#ask = ask
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** There may be something to do. */
  noticed(): void {
    if (this.#closed) return
    if (this.#isAsking) this.#asksAgain = true
    else void this.#find()
  }

  close(): void {
    this.#closed = true
    this.#pause?.cancel()
  }

  async #find(): Promise<void> {
    this.#isAsking = true
    this.#asksAgain = false
    const begunMs = this.#clock.now()
    try {
      await this.#ask()
    } catch (error) {
      // The tick fails as well, logs that, and is retried.
      this.#log.debug({ err: error }, 'polling the store failed')
    }
    if (this.#closed) return
    // It may have waited behind commits for a long time, which says nothing about the cost of a read.
    const tookMs = Math.min(this.#clock.now() - begunMs, MAX_COST_MS)
    this.#pause = this.#clock.after(tookMs * (SHARE - 1), () => {
      this.#isAsking = false
      if (this.#asksAgain) void this.#find()
    })
  }
}
