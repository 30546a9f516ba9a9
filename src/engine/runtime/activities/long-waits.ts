import type { LiveInstance } from '../../instance/live-instance.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { ActivityReports } from './activity-reports.ts'
import { LocalCall } from './local-call.ts'
import type { Slots } from './slots.ts'

// An activity that has waited this long for a slot is left to another runtime that is idle.
const LONG_WAIT_MS = 200

/** Leaves activities that wait for a slot to runtimes that are idle. */
export class LongWaits {
  readonly #core: RuntimeCore
  readonly #slots: Slots
  #reports!: Pick<ActivityReports, 'leaveToOthers'>
  #helped: ReadonlySet<string> = new Set()
  #isChecking = false

  constructor(core: RuntimeCore, slots: Slots) {
    this.#core = core
    this.#slots = slots
  }

  reportTo(reports: Pick<ActivityReports, 'leaveToOthers'>): void {
    this.#reports = reports
  }

  /** Another runtime is idle that could run these activities. */
  helpedWith(activities: readonly string[]): void {
    this.#helped = new Set(activities)
    this.#check()
  }

  #check(): void {
    // Code that ignores its abort signal keeps its slot: the timer would keep a closed process alive.
    if (this.#core.closing.aborted) return
    if (this.#helped.size === 0 || this.#slots.idle || this.#isChecking) return
    const byInstance = new Map<LiveInstance, number[]>()
    for (const call of this.#slots.waitingFor(LONG_WAIT_MS)) {
      if (!(call instanceof LocalCall) || !call.wanted || call.work.step !== undefined) continue
      const { name, tag } = call.called
      if (tag !== '' || !this.#helped.has(name)) continue
      const commands = byInstance.get(call.instance)
      if (commands === undefined) byInstance.set(call.instance, [call.command])
      else commands.push(call.command)
    }
    for (const [instance, commands] of byInstance) this.#reports.leaveToOthers(instance, commands)
    // Checks again until nothing waits, or no runtime is known to be idle.
    this.#isChecking = true
    const check = (): void => {
      this.#isChecking = false
      this.#check()
    }
    this.#core.clock.after(LONG_WAIT_MS, check, 'interval')
  }
}
