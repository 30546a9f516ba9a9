import type { ActivityWork } from '../../instance/activity-work.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'
import { type LiveInstance, lastTurnOf } from '../../instance/live-instance.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Registration } from '../discover/registration.ts'
import type { ActivityCall } from './activity-call.ts'
import type { ActivityReports } from './activity-reports.ts'
import type { AttemptRunner } from './attempt-runner.ts'
import { LocalCall } from './local-call.ts'
import { logAttempt } from './log-attempt.ts'
import type { Performer, Slots } from './slots.ts'
import type { TaskRunner } from './task-runner.ts'

/** Runs activities and steps of owned instances. */
export class LocalActivities implements Performer {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #slots: Slots
  readonly #attempts: AttemptRunner
  readonly #tasks: Pick<TaskRunner, 'end'>
  #reports!: ActivityReports

  constructor(
    core: RuntimeCore,
    registration: Registration,
    slots: Slots,
    attempts: AttemptRunner,
    tasks: Pick<TaskRunner, 'end'>,
  ) {
    this.#core = core
    this.#registration = registration
    this.#slots = slots
    this.#attempts = attempts
    this.#tasks = tasks
  }

  reportTo(reports: ActivityReports): void {
    this.#reports = reports
  }

  /** Starts an attempt, at once or when a slot is free. */
  start(instance: LiveInstance, command: number, work: ActivityWork, attempt: number): void {
    const call = new LocalCall(this.#attempts, instance, command, work, attempt)
    instance.calls.begin(command, call)
    this.#slots.run(call, this)
  }

  /** Gives up all attempts that wait for a slot: the runtime is closing. */
  giveUpWaiting(): void {
    for (const call of this.#slots.close()) {
      if (call instanceof LocalCall && call.wanted) call.instance.calls.end(call.command)
    }
  }

  perform(call: ActivityCall): Promise<void> | undefined {
    const local = call as LocalCall
    const wait = this.#registration.lease.untilValid()
    if (wait !== undefined) return wait.then(() => this.perform(call))
    if (!local.wanted) return undefined
    const running = this.#attempts.run(local)
    return running instanceof Promise
      ? running.then((end) => this.#ended(local, end))
      : this.#ended(local, running)
  }

  /** Reports the end: at once for most, which send no heartbeat and so do not become a task. */
  #ended(call: LocalCall, end: AttemptEnd): Promise<void> | undefined {
    const { beats } = this.#attempts
    const sending = beats.over(call, end.kind === 'retry')
    if (sending !== undefined || beats.becomesTask(call) !== undefined) {
      return this.#endedWithBeats(call, end, sending)
    }
    this.#report(call, end)
    return undefined
  }

  async #endedWithBeats(
    call: LocalCall,
    end: AttemptEnd,
    sending: Promise<void> | undefined,
  ): Promise<void> {
    await sending
    const isTask = (await this.#attempts.beats.becomesTask(call)) === true
    if (isTask) this.#tasks.end(call, end)
    else this.#report(call, end)
  }

  #report(call: LocalCall, end: AttemptEnd): void {
    const { instance, command, attempt } = call
    if (!call.wanted) return this.#handOver(call, end)
    instance.calls.end(command)
    logAttempt(this.#core, call, end)
    this.#reports.attemptEnded(instance, command, attempt, end)
  }

  /** It was aborted but completed: the owner of the instance need not run it again. */
  #handOver({ instance, key }: LocalCall, end: AttemptEnd): void {
    if (!instance.leavesResults || end.kind !== 'completed') return
    const known = lastTurnOf(instance)
    const result = { ...key, kind: 'completed', payload: end.payload, known } as const
    void this.#reports.eviction.handOver(instance, [result])
  }
}
