import { PermitNotify } from '../base/sync/notify.ts'
import type { Logger } from '../base/log.ts'
import type { Clock, Timer } from '../base/time/clock.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import { type Directive, idle, proceed } from '../workers/directive.ts'
import { worker, type Worker } from '../workers/worker.ts'

/** What the loops behind the deliveries need. */
export interface MaintenanceSetup {
  readonly store: OutboxStore
  readonly clock: Clock
  readonly log: Logger
  /** How long dedupe keys and completed dead letters are kept. */
  readonly keep: { readonly keysMs: number; readonly lettersMs: number }
  readonly storeNow: () => number
  readonly saw: (clock: number) => void
  /** Messages have entered these partitions. */
  readonly added: (partitions: readonly number[]) => void
}

const FLAT_OUT = { min: 0, active: 0, step: 0 }
const REMOVE_AT_ONCE = 10_000
// Messages that are done are removed when there are this many, or after a while.
const REMOVE_AFTER = 5_000
const REMOVE_AFTER_MS = 5_000
const TIDY_EVERY_MS = 60_000

/** Removes what is done, brings in what was delayed, and forgets what is old. */
export class Maintenance {
  readonly workers: readonly Worker[]
  readonly #setup: MaintenanceSetup
  readonly #remove = new PermitNotify()
  readonly #move = new PermitNotify()
  readonly #tidy = new PermitNotify()
  #done = 0
  #removeTimer: Timer | undefined
  #moveTimer: Timer | undefined
  #moveAt = Infinity

  constructor(setup: MaintenanceSetup) {
    const { store, clock, log, keep } = setup
    this.#setup = setup
    const common = { clock, log, pacing: FLAT_OUT }
    this.workers = [
      worker('outbox remover', { ...common, wakeOn: [this.#remove] }, () => this.#removePass()),
      worker('outbox delays', { ...common, wakeOn: [this.#move] }, () => this.#movePass()),
      worker(
        'outbox tidier',
        { ...common, every: TIDY_EVERY_MS, wakeOn: [this.#tidy] },
        async () => {
          await store.tidy(keep)
          return idle()
        },
      ),
    ]
  }

  /** So many messages are done. */
  done(count: number): void {
    this.#done += count
    if (this.#done >= REMOVE_AFTER) return this.#remove.notifyOne()
    if (this.#done > 0) {
      const remove = (): void => {
        this.#removeTimer = undefined
        this.#remove.notifyOne()
      }
      this.#removeTimer ??= this.#setup.clock.after(REMOVE_AFTER_MS, remove, 'interval')
    }
  }

  /** Delayed messages are due at this time of the store. */
  dueAt(at: number): void {
    if (at >= this.#moveAt) return
    this.#moveTimer?.cancel()
    this.#moveAt = at
    const inMs = Math.max(0, at - this.#setup.storeNow())
    this.#moveTimer = this.#setup.clock.after(inMs, () => this.moveNow())
  }

  /** Brings in delayed messages that are due. */
  moveNow(): void {
    this.#moveTimer?.cancel()
    this.#moveAt = Infinity
    this.#move.notifyOne()
  }

  /** Removes what is done and what is old now: processes may be too short-lived for timers. */
  removeNow(): void {
    this.#remove.notifyOne()
    this.#tidy.notifyOne()
  }

  /** Ends the timers. */
  close(): void {
    this.#removeTimer?.cancel()
    this.#moveTimer?.cancel()
  }

  async #removePass(): Promise<Directive> {
    this.#done = 0
    const removed = await this.#setup.store.removeDone(REMOVE_AT_ONCE)
    return removed >= REMOVE_AT_ONCE ? proceed() : idle()
  }

  async #movePass(): Promise<Directive> {
    const { store, saw, added } = this.#setup
    const { clock, partitions, nextAt } = await store.moveDelayed()
    saw(clock)
    added(partitions)
    if (nextAt !== null && nextAt <= clock) return proceed()
    if (nextAt !== null) this.dueAt(nextAt)
    return idle()
  }
}
