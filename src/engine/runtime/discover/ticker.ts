import type { Notify } from '../../../base/sync/notify.ts'
import type { UndeliveredMessages } from '../../../store/runtimes.ts'
import { type Directive, idle, sleep } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { CommandRunner } from '../schedule/command-runner.ts'
import type { Ownership } from './ownership.ts'
import type { PoolServices } from './ports.ts'
import type { Registration } from './registration.ts'
import type { ScheduleFirer } from './schedule-firer.ts'
import type { WorkFinder } from './work-finder.ts'

const TICK_MS = 10_000
// When the store asks for it.
const SOON_MS = 1_000

/** What a tick found for this runtime. */
export interface Due {
  /** Messages, instances to claim, or a schedule that is due. */
  readonly work: boolean
  /** Tasks, which limits and sessions may still defer. */
  readonly tasks: boolean
  /** Whether the next tick should come soon. */
  readonly soon: boolean
}

/** What a runtime that has to start over may find. */
const EVERYTHING: Due = { work: true, tasks: true, soon: false }

/** Renews the lease, and asks the store for everything that a lost hint would have announced. */
export class Ticker {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #finder: WorkFinder
  readonly #ownership: Ownership
  readonly #commands: CommandRunner
  readonly #activities: PoolServices
  readonly #schedules: Pick<ScheduleFirer, 'lookAt'>
  /** Shared: two notifiers would lead to two ticks. */
  readonly #wake: Notify
  readonly #everyMs: number
  #undelivered: UndeliveredMessages = { late: 0, early: 0 }

  constructor(
    core: RuntimeCore,
    registration: Registration,
    finder: WorkFinder,
    ownership: Ownership,
    commands: CommandRunner,
    activities: PoolServices,
    schedules: Pick<ScheduleFirer, 'lookAt'>,
  ) {
    this.#core = core
    this.#registration = registration
    this.#finder = finder
    this.#ownership = ownership
    this.#commands = commands
    this.#activities = activities
    this.#schedules = schedules
    this.#wake = registration.lease.wanted
    this.#everyMs = Math.max(1, Math.min(TICK_MS, registration.lease.ms / 3))
  }

  /** Messages that its ticks have removed so far, because no instance will receive them. */
  get undelivered(): UndeliveredMessages {
    return this.#undelivered
  }

  /** Ticks now instead of at the scheduled time. */
  wake(): void {
    this.#wake.notifyOne()
  }

  work(): Worker {
    const { clock, log } = this.#core
    const { lease } = this.#registration
    const backoff = { initial: 100, max: Math.max(100, Math.min(2_000, lease.ms / 4)) }
    const options = { wakeOn: [this.#wake], every: this.#everyMs, clock, log, backoff }
    return worker('ticks', options, () => this.#pass())
  }

  async #pass(): Promise<Directive> {
    const { soon } = await this.ask()
    return soon ? sleep(Math.min(SOON_MS, this.#everyMs)) : idle()
  }

  /** Renews the lease if that is due, asks the store for work, takes it, and returns what it found. */
  async ask(): Promise<Due> {
    const { store, clock, time, closing } = this.#core
    const { claimer, mail } = this.#finder
    const { claimer: taskClaimer, slots, longWaits } = this.#activities
    const { owned } = this.#activities.tasks
    const renews = this.#registration.lease.isDue(this.#everyMs / 2)
    // Separately and first, so that the lease is renewed even if the rest fails.
    if (renews && !(await this.#registration.renewLease())) return EVERYTHING
    const askedMs = clock.now()
    const runtime = this.#registration.number
    const tasks = owned.keys()
    const answer = await store.tick({
      runtime,
      workflows: this.#registration.workflows,
      tasks: taskClaimer.interest,
      unknown: this.#commands.unknownActivities,
      ownedTasks: tasks,
      idle: !closing.aborted && slots.idle,
    })
    time.saw(answer.clock, askedMs)
    if (answer.state === 'dead') {
      await this.#registration.onDead(runtime)
      return EVERYTHING
    }
    if (answer.mail.length > 0) mail.look(answer.mail)
    if (answer.claimable) claimer.claimAt(answer.clock)
    else if (answer.nextDue !== null) claimer.claimAt(answer.nextDue)
    const unwanted = tasks.filter((_, i) => !answer.wanted[i])
    if (unwanted.length > 0) owned.abort(unwanted)
    const { nextSchedule } = answer
    if (nextSchedule !== null) this.#schedules.lookAt(nextSchedule)
    if (answer.nextTask !== null) taskClaimer.wakeAt(answer.nextTask)
    longWaits.helpedWith(answer.helped)
    if (answer.stranded.length > 0) claimer.hint(answer.stranded)
    this.#count(answer.undelivered)
    if (renews) {
      claimer.tick()
      await this.#ownership.dropLostOfSome()
    }
    const isScheduleDue = nextSchedule !== null && nextSchedule <= answer.clock
    return {
      work: answer.mail.length > 0 || answer.claimable || isScheduleDue,
      tasks: answer.nextTask !== null && answer.nextTask <= answer.clock,
      soon: answer.soon,
    }
  }

  #count({ late, early }: UndeliveredMessages): void {
    const { log, meter } = this.#core
    meter?.undelivered(late, early)
    if (late > 0) log.warn({ messages: late }, 'messages dropped: their instance had ended')
    if (early > 0)
      log.warn({ messages: early }, 'messages expired: their instance was never started')
    this.#undelivered = {
      late: this.#undelivered.late + late,
      early: this.#undelivered.early + early,
    }
  }
}
