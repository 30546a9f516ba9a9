import type { Clock, Timer } from '../base/time/clock.ts'
import type { PermitNotify, Sleeper } from '../base/sync/notify.ts'
import type { Place } from '../base/sync/waiters.ts'

/** Why a rest ended: a notifier, its time, or because the worker was stopped. */
export type Waking = PermitNotify | 'time' | 'stop'

/** One wait of a worker for whichever comes first, with nothing left behind when it ends. */
export class Rest implements Sleeper {
  readonly ended: Promise<Waking>
  readonly #notifies: readonly PermitNotify[]
  readonly #places: Place<Sleeper>[]
  readonly #timer: Timer | undefined
  #end: ((why: Waking) => void) | undefined

  /** Waits for a notify, or for `ms` to pass when given. */
  constructor(clock: Clock, notifies: readonly PermitNotify[], ms: number | undefined) {
    this.ended = new Promise((resolve) => (this.#end = resolve))
    this.#notifies = notifies
    this.#places = notifies.map((notify) => notify.join(this))
    this.#timer = ms === undefined ? undefined : clock.after(ms, () => this.#finish('time'))
  }

  wake(by: PermitNotify): void {
    this.#finish(by)
  }

  stop(): void {
    this.#finish('stop')
  }

  #finish(why: Waking): void {
    if (this.#end === undefined) return
    this.#timer?.cancel()
    for (let i = 0; i < this.#notifies.length; i++) this.#notifies[i]!.leave(this.#places[i]!)
    this.#end(why)
    this.#end = undefined
  }
}
