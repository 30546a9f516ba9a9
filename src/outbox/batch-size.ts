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
  /** How many messages come alone before batches grow again. */
  #alone = 0

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

  /** So many messages have had their turn. To be called before what became of their batch. */
  passed(messages: number): void {
    this.#alone = Math.max(0, this.#alone - messages)
  }

  /** All messages of a batch were delivered. */
  succeeded(): void {
    this.#failures = 0
    if (this.#alone > 0) return
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

  /** The batch failed as a whole, and it is unknown which message was to blame. */
  failed(): void {
    this.#shrink(0)
  }

  /**
   * A process died with so many messages, and it is unknown which one was to blame. Each comes alone: otherwise the
   * next death would count against innocent ones.
   */
  abandoned(messages: number): void {
    this.#alone = messages
    this.#shrink(0)
  }

  #shrink(delivered: number): void {
    this.#size = Math.min(this.#configured, Math.max(1, delivered))
  }
}
