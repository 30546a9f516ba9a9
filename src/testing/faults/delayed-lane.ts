/**
 * One direction of a connection: what is put in happens later, in the order in which it was put in,
 * however the delay changes meanwhile.
 */
export class DelayedLane {
  readonly #delayMs: () => number
  readonly #waiting: { readonly dueMs: number; readonly run: () => void }[] = []
  #timer: NodeJS.Timeout | undefined
  #stalled = false

  /** `delayMs` is asked for each time something is put in. */
  constructor(delayMs: () => number) {
    this.#delayMs = delayMs
  }

  put(run: () => void): void {
    const delayMs = this.#delayMs()
    if (delayMs === 0 && this.#waiting.length === 0 && !this.#stalled) return run()
    this.#waiting.push({ dueMs: performance.now() + delayMs, run })
    this.#arm()
  }

  /** Holds everything back until `resume`. */
  stall(): void {
    this.#stalled = true
    this.#disarm()
  }

  resume(): void {
    this.#stalled = false
    this.#arm()
  }

  /** Forgets what has not happened yet. */
  clear(): void {
    this.#waiting.length = 0
    this.#disarm()
  }

  #arm(): void {
    const [first] = this.#waiting
    if (first === undefined || this.#stalled || this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#runDue(), Math.max(0, first.dueMs - performance.now()))
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #runDue(): void {
    this.#timer = undefined
    const nowMs = performance.now()
    // What runs may stall the lane, or clear it.
    while (!this.#stalled && this.#waiting.length > 0 && this.#waiting[0]!.dueMs <= nowMs) {
      this.#waiting.shift()!.run()
    }
    this.#arm()
  }
}
