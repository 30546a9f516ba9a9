import type { Clock, Timer } from '../base/time/clock.ts'
import type { QueueState } from '../store/queue-store.ts'

// A queue that only one process uses is not polled: that process knows its own pushes, and one timer
// serves what becomes due. With other processes on the file, their pushes are polled for while a call
// waits.
//
//   - While a call waits, for a message, for space or for the queue to drain, a timer keeps the process
//     alive, even after a failure.
//   - Another process may open the file at any time, so a look is always planned.

/** How often to look while a call waits and other processes use the file. */
const WAITED_FOR_MS = 10
/** How often to look while no call waits: the age that counts may reach. */
const UNATTENDED_MS = 1_000
/** How often to look for other processes while a call waits and none uses the file. */
const ALONE_MS = 250

/** What a watch calls. */
export interface WatchSetup {
  readonly clock: Clock
  /** The same time, with timers that do not keep the process alive. */
  readonly idleClock: Clock
  readonly isWaitedFor: () => boolean
  /** A delay, a lease or a message has come to its end. */
  readonly onDue: () => void
  /** Others may have changed something. */
  readonly onLook: () => void
}

/** Looks at a queue when something may have happened in it. */
export class Watch {
  readonly #setup: WatchSetup
  #due: { readonly at: number; readonly timer: Timer } | undefined
  #look: { readonly at: number; readonly staysAlive: boolean; readonly timer: Timer } | undefined
  #isStopped = false

  constructor(setup: WatchSetup) {
    this.#setup = setup
  }

  /** Plans the next look at a queue in this state. */
  plan(queueState: QueueState): void {
    if (this.#isStopped) return
    if (queueState.nextDueAt !== null) this.#planDue(queueState.nextDueAt - queueState.now)
    const isWaitedFor = this.#setup.isWaitedFor()
    const attendedMs = queueState.shared ? WAITED_FOR_MS : ALONE_MS
    this.#planLook(isWaitedFor ? attendedMs : UNATTENDED_MS, isWaitedFor)
  }

  /** After a failure: plans what is due, and the next look, a little later. */
  retry(): void {
    if (this.#isStopped) return
    this.#planDue(UNATTENDED_MS)
    this.#planLook(UNATTENDED_MS, this.#setup.isWaitedFor())
  }

  stop(): void {
    this.#isStopped = true
    this.#due?.timer.cancel()
    this.#look?.timer.cancel()
  }

  // A timer that fires too early is harmless, so one is moved only to an earlier time.
  #planDue(ms: number): void {
    const { idleClock, onDue } = this.#setup
    const at = idleClock.now() + Math.max(ms, 0)
    if (this.#due !== undefined && this.#due.at <= at) return
    this.#due?.timer.cancel()
    const timer = idleClock.after(at - idleClock.now(), () => {
      this.#due = undefined
      onDue()
    })
    this.#due = { at, timer }
  }

  #planLook(ms: number, staysAlive: boolean): void {
    const { clock, idleClock, onLook } = this.#setup
    const at = clock.now() + ms
    const planned = this.#look
    if (planned !== undefined && planned.at <= at && planned.staysAlive >= staysAlive) return
    planned?.timer.cancel()
    const timer = (staysAlive ? clock : idleClock).after(ms, () => {
      this.#look = undefined
      onLook()
    })
    this.#look = { at, staysAlive, timer }
  }
}
