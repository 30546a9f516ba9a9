import { PermitNotify } from '../base/sync/notify.ts'
import type { Clock, Timer } from '../base/time/clock.ts'
import type { OutboxTick } from '../store/outbox-store.ts'

// When a lease ends that was not renewed, each process that sees it polls, one after the other: the first declares
// its runtime dead, and the others find what that leaves, of topics that the first has no handlers for.
const TURNS = 16
const TURN_MS = 50

/**
 * Asks for a tick when the lease of another process ends before the next one. A process that is alive renews
 * its lease long before, so this costs nothing until one is silent.
 */
export class LeaseEnds {
  readonly tickNow = new PermitNotify()
  readonly #clock: Clock
  readonly #tickMs: number
  #timer: Timer | undefined

  constructor(clock: Clock, tickMs: number) {
    this.#clock = clock
    this.#tickMs = tickMs
  }

  /** A tick of this runtime has answered. */
  ticked(runtime: number, { clock, leaseEndsAt }: Pick<OutboxTick, 'clock' | 'leaseEndsAt'>): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (leaseEndsAt === null || leaseEndsAt - clock >= this.#tickMs) return
    const inMs = leaseEndsAt - clock + (1 + (runtime % TURNS)) * TURN_MS
    this.#timer = this.#clock.after(inMs, () => this.tickNow.notifyOne())
  }

  /** Ends the timer. */
  close(): void {
    this.#timer?.cancel()
  }
}
