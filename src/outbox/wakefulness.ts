// Whether this process waits for notifications, or looks for messages by itself.
//
// A notification for each message is cheap while there are few. But the database commits transactions with a
// notification one by one, so at high rates they would slow down all transactions that enqueue. So a process that is
// notified often announces that it stays awake for a while, and looks by itself, every few milliseconds.
//
//   - It looks once more after the time that it announced: a transaction that enqueued without a
//     notification has committed by then, or is seen to be open.
//   - Other processes are notified by this one, of what it has no room for.

import { PermitNotify } from '../base/sync/notify.ts'
import type { Logger } from '../base/log.ts'
import type { Clock } from '../base/time/clock.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import { type Directive, idle, sleep } from '../workers/directive.ts'
import { worker, type Worker } from '../workers/worker.ts'

/** What it needs. */
export interface WakefulnessSetup {
  readonly store: OutboxStore
  readonly clock: Clock
  readonly log: Logger
  /** The topics that are handled here. */
  readonly topics: readonly number[]
  readonly storeNow: () => number
  /** Looks everywhere. Returns whether there was something to do. */
  readonly look: () => Promise<boolean>
}

// This many notifications within this time are often.
const OFTEN = 10
const WITHIN_MS = 50
const AWAKE_MS = 1_000
const LOOK_EVERY_MS = 5
// After so long without anything to do, notifications are good enough again.
const QUIET_MS = 200

/** Changes between notifications and polling. */
export class Wakefulness {
  readonly worker: Worker
  readonly #setup: WakefulnessSetup
  readonly #begin = new PermitNotify()
  #recent: number[] = []
  /** By the store's clock. */
  #until = 0
  #renewedMs = -Infinity
  #busyMs = -Infinity
  #isAwake = false
  /** Whether it fell asleep and has not looked since. A look that fails is made again. */
  #owesLook = false

  constructor(setup: WakefulnessSetup) {
    const { clock, log } = setup
    this.#setup = setup
    this.worker = worker(
      'outbox looks',
      { wakeOn: [this.#begin], clock, log, pacing: { min: 0, active: 0, step: 0 } },
      () => this.#pass(),
    )
  }

  /** Whether this process looks by itself at present. */
  get isAwake(): boolean {
    return this.#isAwake
  }

  /** A notification has arrived. */
  notified(): void {
    const { store, clock } = this.#setup
    if (this.#isAwake || store.stayAwake === undefined) return
    const nowMs = clock.now()
    this.#recent = this.#recent.filter((at) => nowMs - at < WITHIN_MS)
    if (this.#recent.push(nowMs) < OFTEN) return
    this.#recent = []
    this.#isAwake = true
    this.#busyMs = nowMs
    this.#begin.notifyOne()
  }

  async #pass(): Promise<Directive> {
    const { store, clock, topics, storeNow, look } = this.#setup
    if (!this.#isAwake && !this.#owesLook) return idle()
    const isQuiet = clock.now() - this.#busyMs > QUIET_MS
    if (this.#isAwake && !isQuiet && clock.now() - this.#renewedMs > AWAKE_MS / 2) {
      this.#renewedMs = clock.now()
      try {
        this.#until = await store.stayAwake!(topics, AWAKE_MS)
      } catch (error) {
        // It may be stored all the same.
        this.#until = storeNow() + AWAKE_MS
        throw error
      }
    }
    // Before the last poll: a worker that gives a partition back after this looks by itself.
    if (this.#isAwake && isQuiet && storeNow() > this.#until) {
      this.#isAwake = false
      this.#renewedMs = -Infinity
      this.#owesLook = true
    }
    if (await look()) this.#busyMs = clock.now()
    this.#owesLook = false
    return this.#isAwake ? sleep(LOOK_EVERY_MS) : idle()
  }
}
