import { type Notify, notify } from '../../../base/sync/notify.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { LoopHeartbeat } from '../../../watchdog/loop-heartbeat.ts'

// Further apart than this, the calendar and the process's clock have not seen the same time pass.
const MAX_DISAGREEMENT_MS = 1_000

/**
 * Whether the lease of this runtime is certainly valid. While it is, no other runtime takes over what
 * it owns, so it may start code.
 *
 * The registration and the ticker renew it; this only keeps the time.
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
    const passedMs = this.#clock.now() - this.#renewedMs
    if (this.#mayHaveBeenSuspended(passedMs)) return false
    return passedMs <= this.ms || this.#loop.isKept
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

  /** Requests a renewal now, however recent the last one was: the store then records its clock. */
  request(): void {
    this.#isRequested = true
    this.wanted.notifyOne()
  }

  /** The store has answered a renewal, with any result. */
  answered(): void {
    this.#isRequested = false
  }

  /** Whether to renew it now, with one renewal every `everyMs`. */
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
   * The clocks of the process and of its thread stop while the machine is suspended; the calendar does
   * not. When they disagree, the calendar may also have been set. Only the store can tell, so it is
   * asked.
   */
  #mayHaveBeenSuspended(passedMs: number): boolean {
    const shownMs = this.#clock.date().getTime() - this.#renewedDateMs
    return Math.abs(shownMs - passedMs) > Math.min(MAX_DISAGREEMENT_MS, this.ms / 10)
  }
}
