// Everything in a runtime that runs activities: those of its own instances, and tasks of any instance.

import type { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import type { Worker } from '../../../workers/worker.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Registration } from '../discover/registration.ts'
import type { WorkFinder } from '../discover/work-finder.ts'
import type { ActivityReports } from './activity-reports.ts'
import { AttemptRunner } from './attempt-runner.ts'
import { Heartbeats } from './heartbeats.ts'
import { LocalActivities } from './local-activities.ts'
import { LongWaits } from './long-waits.ts'
import { Slots } from './slots.ts'
import { TaskClaimer, type TaskPolicy } from './task-claimer.ts'
import { TaskRunner } from './task-runner.ts'

/** Runs activities of owned instances, and tasks, in a limited number of slots. */
export class ActivityPool {
  readonly slots: Slots
  readonly attempts: AttemptRunner
  readonly tasks: TaskRunner
  readonly claimer: TaskClaimer
  readonly activities: LocalActivities
  readonly longWaits: LongWaits

  constructor(
    core: RuntimeCore,
    registration: Registration,
    finder: WorkFinder,
    loop: SharedLoopHeartbeat,
    policy: TaskPolicy,
    max: number,
  ) {
    const slots = new Slots(core, max)
    const beats = new Heartbeats(core, registration)
    const attempts = new AttemptRunner(core, registration, loop, beats)
    const tasks = new TaskRunner(core, registration, finder, slots, attempts)
    this.slots = slots
    this.attempts = attempts
    this.tasks = tasks
    this.claimer = new TaskClaimer(core, registration, finder.hints, tasks, policy)
    this.activities = new LocalActivities(core, registration, slots, attempts, tasks)
    this.longWaits = new LongWaits(core, slots)
    beats.reportTo(tasks)
    slots.reportTo(this.claimer)
  }

  /** Connects the scheduler, which is built later and takes the results of activities. */
  reportTo(reports: ActivityReports): void {
    this.activities.reportTo(reports)
    this.tasks.reportTo(reports)
    this.longWaits.reportTo(reports)
  }

  workers(): Worker[] {
    return [this.claimer.work(), this.tasks.results.work(), this.attempts.beats.work()]
  }

  /** Claims nothing more. Running tasks may finish within `drainMs`; then they are aborted. */
  close(drainMs: number): Promise<void> {
    this.claimer.close()
    return this.tasks.close(drainMs)
  }
}
