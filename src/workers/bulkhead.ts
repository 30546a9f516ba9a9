import { backoffMs, NO_BACKOFF, type ResolvedBackoff } from '../base/time/backoff.ts'
import { apply, type Application, type Gates, tryEnter } from './limit.ts'

/**
 * Keeps one worker from affecting the rest: a limit on how many run at once, and a delay before its
 * next run that grows while it fails.
 */
export class Bulkhead {
  readonly #gates: Gates
  readonly #backoff: ResolvedBackoff
  readonly #random: () => number
  #failures = 0
  #floorMs = 0

  constructor(
    gates: Gates = [],
    backoff: ResolvedBackoff = NO_BACKOFF,
    random: () => number = Math.random,
  ) {
    this.#gates = gates
    this.#backoff = backoff
    this.#random = random
  }

  /** True when nothing limits this worker. */
  get unlimited(): boolean {
    return this.#gates.length === 0
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures
  }

  /** How long to wait before the next run; 0 unless it failed. */
  get floorMs(): number {
    return this.#floorMs
  }

  /** A permit that is free right now. */
  tryEnter(): Disposable | undefined {
    return tryEnter(this.#gates)
  }

  /** Waits for a permit. */
  apply(): Application {
    return apply(this.#gates)
  }

  /** One more failure: raises the floor, and returns it. */
  escalate(): number {
    this.#failures++
    this.#floorMs = this.waitMs(this.#failures)
    return this.#floorMs
  }

  /** A success: no failures, no floor. */
  reset(): void {
    this.#failures = 0
    this.#floorMs = 0
  }

  /** The wait that this worker's backoff asks for after this many failures. */
  waitMs(failures: number): number {
    return backoffMs(this.#backoff, failures, this.#random)
  }
}
