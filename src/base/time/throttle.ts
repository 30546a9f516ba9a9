import type { Clock, Timer } from './clock.ts'

/**
 * Calls something soon after it is requested, however often that is, with a pause between two
 * calls.
 */
export class Throttle {
  readonly #clock: Clock
  readonly #run: () => void
  #ranMs = -Infinity
  #timer: Timer | undefined

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock
    this.#run = run
  }

  /** How long ago the latest call was. */
  get agoMs(): number {
    return this.#clock.now() - this.#ranMs
  }

  /** Asks for a call: at once when the latest is `pauseMs` ago, otherwise then. */
  request(pauseMs: number): void {
    if (this.#timer !== undefined) return
    const leftMs = pauseMs - this.agoMs
    if (leftMs <= 0) return this.#call()
    const call = (): void => {
      this.#timer = undefined
      this.#call()
    }
    this.#timer = this.#clock.after(leftMs, call, 'poll')
  }

  /** Makes a requested call that still waits, now. */
  flush(): void {
    if (this.#timer === undefined) return
    this.cancel()
    this.#call()
  }

  /** Cancels the requested call. */
  cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #call(): void {
    this.#ranMs = this.#clock.now()
    this.#run()
  }
}
