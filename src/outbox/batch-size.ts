/**
 * How many messages of a partition to read at once. A failure that cannot be pinned on one message, such
 * as the death of a process, makes batches small until the message to blame is alone; successes double
 * them again.
 */
export class BatchSize {
  readonly #configured: number
  readonly #degradeAfter: number
  #failures = 0
  #size: number

  constructor(configured: number, degradeAfter: number) {
    this.#configured = configured
    this.#degradeAfter = degradeAfter
    this.#size = configured
  }

  get current(): number {
    return this.#size
  }

  /** Whether it is as if nothing had failed. */
  get isNormal(): boolean {
    return this.#size === this.#configured && this.#failures === 0
  }

  /** All messages of a batch were delivered. */
  succeeded(): void {
    this.#failures = 0
    this.#size = Math.min(this.#configured, this.#size * 2)
  }

  /** Some message has to be tried again, after so many that were delivered. */
  retried(delivered: number): void {
    if (++this.#failures >= this.#degradeAfter) this.#shrink(delivered)
  }

  /** A message became a dead letter, after so many that were delivered. */
  rejected(delivered: number): void {
    this.#failures = 0
    this.#shrink(delivered)
  }

  /** A process died with the batch, and it is unknown which message was to blame. */
  abandoned(): void {
    this.#shrink(0)
  }

  #shrink(delivered: number): void {
    this.#size = Math.min(this.#configured, Math.max(1, delivered))
  }
}
