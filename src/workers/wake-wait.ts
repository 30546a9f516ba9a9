import type { Clock, Timer, TimerKind } from '../base/time/clock.ts'
import type { PermitNotify, Sleeper } from '../base/sync/notify.ts'
import type { Place } from '../base/sync/waiters.ts'

/** What ended a wait: a notifier, its time, or the stop of the worker. */
export type Waking = PermitNotify | 'time' | 'stop'

/** One wait for several notifiers and a time, whichever comes first. It leaves nothing behind. */
export class WakeWait implements Sleeper {
  readonly ended: Promise<Waking>
  readonly #notifies: readonly PermitNotify[]
  readonly #places: Place<Sleeper>[]
  readonly #timer: Timer | undefined
  #end: ((why: Waking) => void) | undefined

  /** Waits for a notify, or for `ms` to pass when given. */
  constructor(
    clock: Clock,
    notifies: readonly PermitNotify[],
    ms: number | undefined,
    kind?: TimerKind,
  ) {
    this.ended = new Promise((resolve) => (this.#end = resolve))
    this.#notifies = notifies
    this.#places = notifies.map((notify) => notify.join(this))
    this.#timer = ms === undefined ? undefined : clock.after(ms, () => this.#finish('time'), kind)
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
