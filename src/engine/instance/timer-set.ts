import type { Alarm, Alarms } from '../core/alarms.ts'

const NONE: readonly number[] = []

/** The timers of one instance, each under a number of its own. */
export class TimerSet {
  #timers: Map<number, Alarm> | undefined

  has(key: number): boolean {
    return this.#timers?.has(key) === true
  }

  /** The numbers of all timers. */
  get keys(): readonly number[] {
    return this.#timers === undefined ? NONE : [...this.#timers.keys()]
  }

  /** Calls `ring` at a moment of store time; replaces the timer that has this number. */
  set(alarms: Alarms, key: number, at: number, ring: () => void): void {
    const alarm = {
      ring: () => {
        this.#timers!.delete(key)
        ring()
      },
    }
    this.cancel(alarms, key)
    ;(this.#timers ??= new Map()).set(key, alarm)
    alarms.set(alarm, at)
  }

  cancel(alarms: Alarms, key: number): void {
    const alarm = this.#timers?.get(key)
    if (alarm === undefined) return
    alarms.cancel(alarm)
    this.#timers!.delete(key)
  }

  cancelAll(alarms: Alarms): void {
    if (this.#timers === undefined) return
    for (const alarm of this.#timers.values()) alarms.cancel(alarm)
    this.#timers.clear()
  }
}
