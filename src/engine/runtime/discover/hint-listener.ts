// Acts on the hints of other processes.
//
//   - A hint is a reason to ask the store, never a fact. Every user of the database can send one; the
//     gate bounds what that may cost.
//   - A hint about an instance that is not owned here is a reason to claim it, never to ignore it.
//   - Hints do not set off each other without end: a runtime without free slots asks all others once
//     in a while, and they do not forward that.

import type { HintInterest } from '../../../store/hints.ts'
import type { Iid } from '../../../store/instances.ts'
import type { TaskKey } from '../../../store/tasks.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { HintFollower } from './hint-exchange.ts'
import type { WorkHint } from './hint-gate.ts'
import type { Ownership } from './ownership.ts'
import type { PoolServices } from './ports.ts'
import type { Registration, WorkSearch } from './registration.ts'
import type { ScheduleFirer } from './schedule-firer.ts'
import type { Ticker } from './ticker.ts'
import type { WorkFinder } from './work-finder.ts'

/** Takes the work that hints announce. */
export class HintListener implements HintFollower, WorkSearch {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #finder: WorkFinder
  readonly #ticker: Ticker
  readonly #ownership: Ownership
  readonly #activities: PoolServices
  readonly #schedules: Pick<ScheduleFirer, 'lookAt'>
  #asking: Promise<boolean> | undefined
  #asksAgain = false

  constructor(
    core: RuntimeCore,
    registration: Registration,
    finder: WorkFinder,
    ticker: Ticker,
    ownership: Ownership,
    activities: PoolServices,
    schedules: Pick<ScheduleFirer, 'lookAt'>,
  ) {
    this.#core = core
    this.#registration = registration
    this.#finder = finder
    this.#ticker = ticker
    this.#ownership = ownership
    this.#activities = activities
    this.#schedules = schedules
  }

  /** Begins to listen to other processes, and looks for work. */
  open(): void {
    this.#finder.hints.open(this)
    this.#ticker.wake()
  }

  /** The runtime has a new number, under which others reach it. Looks for work. */
  lookAgain(): void {
    this.#finder.hints.refresh()
    this.#ticker.wake()
    this.#finder.claimer.wake()
  }

  lookAtSchedules(at: number): void {
    this.#schedules.lookAt(at)
  }

  interest(): HintInterest {
    const registration = this.#registration
    const { claimer, tasks } = this.#activities
    return {
      runtime: registration.number,
      // Asked for often, but for the number seldom read.
      get workflows() {
        return registration.workflows
      },
      get tasks() {
        return claimer.interest
      },
      get ownedTasks() {
        return tasks.owned.keys()
      },
    }
  }

  concerns(hint: WorkHint): boolean {
    const { owns } = this.#finder
    const { claimer, tasks } = this.#activities
    switch (hint.kind) {
      case 'work': {
        const { iids } = hint
        return iids.length === 0 || this.#registration.workflows.length > 0 || iids.some(owns)
      }
      case 'tasks': {
        const own = claimer.interest?.activities ?? []
        const { activities } = hint
        return activities.length === 0 || activities.some((name) => own.includes(name))
      }
      case 'dropped':
        return tasks.owned.keys().some((own) => hint.tasks.some((task) => isSameTask(task, own)))
      case 'recalled':
        return hint.iids.some(owns)
    }
  }

  follow(hint: WorkHint): void {
    const { claimer, tasks } = this.#activities
    switch (hint.kind) {
      case 'work':
        return this.#followWork(hint.iids, hint.at)
      case 'tasks':
        return claimer.wakeAt(hint.at)
      case 'dropped':
        return void this.#check(tasks.owned.abortUnwanted(hint.tasks))
      case 'recalled':
        return void this.#check(this.#ownership.dropChanged(hint.iids))
    }
  }

  /** Checks a hint with the store. If the store does not answer, the tick finds the work. */
  async #check(asked: Promise<number>): Promise<void> {
    try {
      this.#finder.hints.found(await asked)
    } catch (error) {
      this.#core.log.debug({ err: error }, 'could not check a hint')
    }
  }

  #followWork(iids: readonly Iid[], at: number): void {
    const { claimer, mail, hints, capacity, owns } = this.#finder
    if (at > 0) {
      // Others know of a moment without instances as well: they are not asked for help.
      if (iids.length > 0 || capacity.free > 0) claimer.claimAt(at)
      // Claims as soon as there is a free slot.
      else claimer.wake()
      return
    }
    if (iids.length === 0) return void this.look()
    mail.look(iids)
    if (capacity.free <= 0 && !iids.every(owns)) hints.tellOverflow()
  }

  /** However many hints arrive, only one query runs at a time. */
  async look(): Promise<boolean> {
    if (this.#asking !== undefined) {
      this.#asksAgain = true
      return this.#asking
    }
    this.#asking = this.#ask()
    try {
      return await this.#asking
    } finally {
      this.#asking = undefined
      if (this.#asksAgain) {
        this.#asksAgain = false
        void this.look()
      }
    }
  }

  async #ask(): Promise<boolean> {
    try {
      const due = await this.#ticker.ask()
      const found = due.work || due.tasks
      if (found) this.#finder.hints.found(1)
      return found
    } catch (error) {
      this.#core.log.debug({ err: error }, 'could not ask the store for work; retrying')
      this.#ticker.wake()
      return false
    }
  }
}

function isSameTask(a: TaskKey, b: TaskKey): boolean {
  return a.iid === b.iid && a.execution === b.execution && a.command === b.command
}
