import type { Clock, Timer } from '../base/time/clock.ts'
import type { QueueState } from '../store/queue-store.ts'

// Nobody polls a queue that one process uses: its own pushes are known, and for what becomes due
// there is one timer. With others on the file their pushes are looked for while somebody waits.
//
//   - While somebody waits, for a message, for room or for the end, a timer keeps the process alive,
//     also after something went wrong.
//   - Somebody else may open the file at any time, so there is always a look to come.

/** With others on the file and somebody waiting: about what a message may come later. */
const WAITED_FOR_MS = 10
/** With nobody waiting: how old the counts may be. */
const UNATTENDED_MS = 1_000
/** With somebody waiting and nobody else on the file yet: when that is noticed. */
const ALONE_MS = 250

/** What a watch tells. */
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

/** Sees to it that a queue is looked at when something may have happened in it. */
export class Watch {
  readonly #setup: WatchSetup
  #due: { readonly at: number; readonly timer: Timer } | undefined
  #look: { readonly at: number; readonly staysAlive: boolean; readonly timer: Timer } | undefined
  #isStopped = false

  constructor(setup: WatchSetup) {
    this.#setup = setup
  }

  /** Plans the next look at a queue that stands like this. */
  plan(queueState: QueueState): void {
    if (this.#isStopped) return
    if (queueState.nextDueAt !== null) this.#planDue(queueState.nextDueAt - queueState.now)
    const isWaitedFor = this.#setup.isWaitedFor()
    const attendedMs = queueState.shared ? WAITED_FOR_MS : ALONE_MS
    this.#planLook(isWaitedFor ? attendedMs : UNATTENDED_MS, isWaitedFor)
  }

  /** Something went wrong: whatever is due is seen to, and the queue looked at, a little later. */
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

  // A timer that comes too early does no harm, so one is moved only to an earlier time.
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
