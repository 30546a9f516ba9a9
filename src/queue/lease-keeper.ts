import type { Clock, Timer } from '../base/time/clock.ts'
import { LazySignal } from '../base/sync/lazy-signal.ts'
import { StoreError } from '../store/store-error.ts'
import type { OwnDelivery } from './delivery.ts'
import { QueueError } from './queue-error.ts'

// The lease of a message while its handler runs, and a signal that aborts when the lease is lost.
//
//   - Each extension makes the lease as long again as it was at first, however late it comes.
//   - One that fails is retried well before the lease ends.
//   - Nothing is left behind when the handler has ended: no timer, no listener.

/** How many times within a lease to extend it, and to retry after a failure. */
const PER_LEASE = 3
const TRIES_PER_LEASE = 20

/** Keeps the lease of a delivery, and aborts when it is lost anyway. */
export class LeaseKeeper<T> {
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #delivery: OwnDelivery<T>
  readonly #stop: AbortSignal
  readonly #lost = new LazySignal()
  readonly #onStop = (): void => this.#lost.abort(this.#stop.reason as Error)
  #timer: Timer | undefined
  #isLinked = false
  #isOver = false

  /** `stop` aborts when the handler has to end, whatever its lease. */
  constructor(
    { clock, leaseMs }: { readonly clock: Clock; readonly leaseMs: number },
    delivery: OwnDelivery<T>,
    stop: AbortSignal,
  ) {
    this.#clock = clock
    this.#leaseMs = leaseMs
    this.#delivery = delivery
    this.#stop = stop
    this.#extendIn(leaseMs / PER_LEASE)
  }

  /** Aborts when the lease is lost, or when the handler has to end. The same every time. */
  get signal(): AbortSignal {
    if (this.#stop.aborted) this.#onStop()
    else if (!this.#isLinked && !this.#isOver) {
      this.#isLinked = true
      this.#stop.addEventListener('abort', this.#onStop, { once: true })
    }
    return this.#lost.signal
  }

  /** The handler has ended. */
  end(): void {
    this.#isOver = true
    this.#timer?.cancel()
    if (this.#isLinked) this.#stop.removeEventListener('abort', this.#onStop)
  }

  #extendIn(ms: number): void {
    this.#timer = this.#clock.after(ms, () => void this.#extend())
  }

  async #extend(): Promise<void> {
    const leftMs = this.#delivery.leaseUntil - this.#clock.now()
    try {
      await this.#delivery.extend(Math.max(0, this.#leaseMs - leftMs))
    } catch (error) {
      if (isFinal(error)) this.#lost.abort(error)
      else if (!this.#isOver) this.#extendIn(this.#leaseMs / TRIES_PER_LEASE)
      return
    }
    if (!this.#isOver) this.#extendIn(this.#leaseMs / PER_LEASE)
  }
}

/** Whether the lease is lost for good: the message was delivered again, or the queue was closed. */
function isFinal(error: unknown): error is Error {
  return error instanceof QueueError || (error instanceof StoreError && error.code === 'closed')
}
