import type { Clock, Timer } from '../base/time/clock.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import type { Place } from '../base/sync/waiters.ts'
import type { ResolvedWait } from './wait-options.ts'

// One object, and few closures: there is one for nearly every message.

/** What a taker wants, and how to answer it. */
export interface TakerSetup<D> extends ResolvedWait {
  readonly max: number
  /** Whether all but the first are not looked at for now. */
  readonly isPrefetching: boolean
  readonly resolve: (deliveries: readonly D[]) => void
  readonly reject: (error: unknown) => void
  /** Takes it out of line. */
  readonly leave: (taker: Taker<D>) => void
}

/** One call of `take`. Whatever ends its wait first, ends it for good. */
export class Taker<D> {
  /** Its place in line, while it has one. */
  place: Place<Taker<D>> | undefined
  readonly #setup: TakerSetup<D>
  #timer: Timer | undefined
  #stopListening: (() => void) | undefined

  constructor(setup: TakerSetup<D>) {
    this.#setup = setup
  }

  get max(): number {
    return this.#setup.max
  }

  get isPrefetching(): boolean {
    return this.#setup.isPrefetching
  }

  /** Whether it waits for the first message. */
  get isWaiting(): boolean {
    const { timeoutMs } = this.#setup
    return timeoutMs !== undefined && timeoutMs > 0
  }

  /** Begins to wait, in its place. */
  wait(clock: Clock, place: Place<Taker<D>>): void {
    const { timeoutMs, signal } = this.#setup
    this.place = place
    if (this.isWaiting && timeoutMs !== Infinity) {
      this.#timer = clock.after(timeoutMs!, () => this.give([]))
    }
    this.#stopListening = signal && onAbort(signal, () => this.fail(signal.reason))
  }

  /** Ends the wait with messages, or without any. */
  give(deliveries: readonly D[]): void {
    this.#end()
    this.#setup.resolve(deliveries)
  }

  fail(error: unknown): void {
    this.#end()
    this.#setup.reject(error)
  }

  #end(): void {
    this.#setup.leave(this)
    this.#timer?.cancel()
    this.#stopListening?.()
  }
}
