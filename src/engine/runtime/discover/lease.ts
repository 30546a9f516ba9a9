import { type Notify, notify } from '../../../base/sync/notify.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { LoopHeartbeat } from './loop-heartbeat.ts'

// Further apart than this, the calendar and the process's clock have not seen the same time pass.
const MAX_DISAGREEMENT_MS = 1_000

/**
 * Whether the lease of this runtime is certainly valid. While it is, no other runtime takes over what
 * it owns, so it may start code.
 *
 * Renewing is up to the registration and the ticker: this only keeps the time.
 */
export class Lease {
  readonly ms: number
  /** Wakes the ticker: the lease has to be renewed before its next tick. */
  readonly wanted: Notify = notify()
  readonly #clock: Clock
  readonly #loop: Pick<LoopHeartbeat, 'renewed' | 'isKept'>
  readonly #renewed = notify()
  #renewedMs: number
  /** What the calendar showed then. */
  #renewedDateMs: number
  #isRequested = false

  constructor(clock: Clock, loop: Pick<LoopHeartbeat, 'renewed' | 'isKept'>, ms: number) {
    this.ms = ms
    this.#clock = clock
    this.#loop = loop
    this.#renewedMs = clock.now()
    this.#renewedDateMs = clock.date().getTime()
  }

  /** Whether it is certainly valid: no other runtime can have taken over. */
  get isValid(): boolean {
    if (this.#mayHaveBeenSuspended()) return false
    return this.#clock.now() - this.#renewedMs <= this.ms || this.#loop.isKept
  }

  /** `undefined` while it is certainly valid; otherwise resolves once it has been renewed. */
  untilValid(): Promise<void> | undefined {
    return this.isValid ? undefined : this.#untilValid()
  }

  async #untilValid(): Promise<void> {
    // The answer to a renewal from before the process was frozen renews nothing.
    do {
      this.wanted.notifyOne()
      await this.#renewed.wait()
    } while (!this.isValid)
  }

  /** Asks for a renewal now, however short ago the last one was: the store notes its clock with it. */
  request(): void {
    this.#isRequested = true
    this.wanted.notifyOne()
  }

  /** The store has answered a renewal, whatever it said. */
  answered(): void {
    this.#isRequested = false
  }

  /** Whether to renew it now, if that is done every `everyMs`. */
  isDue(everyMs: number): boolean {
    return this.#isRequested || !this.isValid || this.#clock.now() - this.#renewedMs >= everyMs
  }

  /**
   * It was granted or renewed by a call that began at `askedMs` of the process's clock, when the
   * calendar showed `askedDateMs`. It does not count from now: the machine may have been suspended
   * while the answer was on its way.
   */
  renewed(askedMs: number, askedDateMs: number): void {
    this.#renewedMs = askedMs
    this.#renewedDateMs = askedDateMs
    this.#loop.renewed(this.#clock.now() - askedMs)
    this.#renewed.notifyAll()
  }

  /**
   * The process's clock stops while its machine is suspended, and so does that of the thread. The
   * calendar goes on. Where the two disagree, the calendar may also have been set; there is no way to
   * tell, so the store is asked.
   */
  #mayHaveBeenSuspended(): boolean {
    const passedMs = this.#clock.now() - this.#renewedMs
    const shownMs = this.#clock.date().getTime() - this.#renewedDateMs
    return Math.abs(shownMs - passedMs) > Math.min(MAX_DISAGREEMENT_MS, this.ms / 10)
  }
}
