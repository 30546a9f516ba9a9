// Runs tasks that were claimed, and reports their results.
//
//   - A result is sent until the store has answered, even by a runtime that was declared dead
//     meanwhile: a completed attempt counts if no other finished first.
//   - An attempt that is no longer wanted is aborted, and its result is dropped.

import { isWrapped, unreadable } from '../../../base/codec/transform.ts'
import { CancelledError } from '../../../base/errors.ts'
import { MAX_DEATHS } from '../../../store/constants.ts'
import type { StoreError } from '../../../store/store-error.ts'
import type { ClaimedTask, TaskResult, TaskVerdict } from '../../../store/tasks.ts'
import { readTaskOptions } from '../../instance/activity-work.ts'
import { PoisonError } from '../../instance/poison.ts'
import { TAKEN_OVER } from '../core/reasons.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Registration } from '../discover/registration.ts'
import type { WorkFinder } from '../discover/work-finder.ts'
import { logSuspended } from '../schedule/log-end.ts'
import type { ActivityCall } from './activity-call.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'
import type { AttemptRunner } from './attempt-runner.ts'
import type { ActivityReports } from './activity-reports.ts'
import type { HeartbeatWatcher } from './heartbeats.ts'
import { LocalCall } from './local-call.ts'
import { logAttempt } from './log-attempt.ts'
import { NOT_WANTED, OwnedTasks } from './owned-tasks.ts'
import type { Performer, Slots } from './slots.ts'
import { blocksOthers, TaskCall } from './task-call.ts'
import { taskName } from './task-names.ts'
import { type LoggedTask, type ResultWatcher, TaskResults } from './task-results.ts'

// A task that kills its runtimes waits until its instance is resumed; this only bounds how long it
// is remembered.
const POISON_PAUSE_MS = 3_600_000
const RETRY_MS = 10_000

/** Runs the tasks that this runtime owns. */
export class TaskRunner implements Performer, ResultWatcher, HeartbeatWatcher {
  readonly owned: OwnedTasks
  readonly results: TaskResults
  readonly slots: Slots
  readonly attempts: AttemptRunner
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #finder: WorkFinder
  #reports!: ActivityReports

  constructor(
    core: RuntimeCore,
    registration: Registration,
    finder: WorkFinder,
    slots: Slots,
    attempts: AttemptRunner,
  ) {
    this.owned = new OwnedTasks(core, registration, finder.claimer)
    this.results = new TaskResults(core, this)
    this.slots = slots
    this.attempts = attempts
    this.#core = core
    this.#registration = registration
    this.#finder = finder
  }

  reportTo(reports: ActivityReports): void {
    this.#reports = reports
  }

  /** Whether anything runs, or has a result that is not stored yet. */
  get isBusy(): boolean {
    return this.owned.size > 0 || this.results.underway > 0
  }

  /** Runs a task that was claimed under this number, at once or when a slot is free. */
  begin(runtime: number, task: ClaimedTask): void {
    const definition = this.#core.registry.activity(task.activity)
    const options = readTaskOptions(task.options)
    if (blocksOthers(task, options)) this.owned.block(taskName(task))
    if (this.#core.closing.aborted || definition === undefined) {
      return this.#giveBack(runtime, task, { keys: keysOf(task) }, 0)
    }
    if (isWrapped(task.input) || (task.beat !== null && isWrapped(task.beat))) {
      return this.#passOn(runtime, task)
    }
    if (task.deaths >= MAX_DEATHS) return void this.#suspend(runtime, task)
    const call = new TaskCall(this.attempts, this.owned, task, options, definition)
    this.owned.add(runtime, call)
    this.slots.run(call, this)
  }

  async perform(call: ActivityCall): Promise<void> {
    const wait = this.#registration.lease.untilValid()
    if (wait !== undefined) await wait
    if (!call.wanted) return
    const end = await this.attempts.run(call)
    await this.attempts.beats.over(call, end.kind === 'retry')
    this.end(call, end)
  }

  /** An attempt at a task has ended, or at an activity that has become a task. */
  end(call: ActivityCall, end: AttemptEnd): void {
    const runtime = this.owned.take(call)
    if (runtime === undefined) return this.#endSuperseded(call, end)
    if (end.kind === 'stored') {
      this.owned.unblock(taskName(call.key))
      return this.#finder.look([call.key.iid])
    }
    // Stopped by this runtime's death or its close: that says nothing about the task.
    const isInterrupted = call.isStopped && end.kind !== 'completed'
    const report = isInterrupted ? ({ kind: 'release', delayMs: 0 } as const) : end
    if (report === end) logAttempt(this.#core, call, end)
    this.results.add(runtime, { ...attemptOf(call), end: report }, call)
  }

  /** The number it was begun under is dead; the runtime that took the task over may be slower. */
  #endSuperseded(call: ActivityCall, end: AttemptEnd): void {
    const runtime = this.owned.takeSuperseded(call)
    if (runtime === undefined || end.kind !== 'completed') return
    this.results.add(runtime, { ...attemptOf(call), end }, call)
  }

  becameTask(call: LocalCall): void {
    const { instance, command, attempt } = call
    if (instance.calls.attempt(command) === call) instance.calls.end(command)
    this.owned.add(this.#registration.number, call)
    if (!instance.isGone && !instance.run.open.has(command)) return this.#discard(call)
    instance.calls.becameTask({ command, attempts: attempt, isOwned: true })
    this.#reports.releaseIfIdle(instance)
  }

  /** It was cancelled while it became a task. Removes it as a failure, so that it never runs again. */
  #discard(call: LocalCall): void {
    const { key, attempt } = call
    this.owned.abort([{ ...key, attempt }])
    const payload = this.#core.values.encodeError(new CancelledError(NOT_WANTED))
    const end = { kind: 'failed', payload } as const
    this.results.add(this.#registration.number, { ...attemptOf(call), end }, call)
  }

  unwanted(call: ActivityCall): void {
    if (call instanceof LocalCall && call.task === 'none') {
      // The store says that this runtime does not own the instance.
      call.abort(TAKEN_OVER)
    } else {
      this.owned.abort([{ ...call.key, attempt: call.attempt }])
    }
  }

  /** Begins nothing new. Running tasks may finish within `drainMs`; then they are aborted. */
  async close(drainMs: number): Promise<void> {
    for (const { call, runtime } of this.owned.takeWaiting()) {
      this.#giveBack(runtime, attemptOf(call), call, 0)
    }
    let late = false
    const timer = this.#core.clock.after(drainMs, () => {
      late = true
      this.owned.settled.notifyOne()
    })
    while (this.isBusy && !late) await this.owned.settled.wait()
    timer.cancel()
    this.owned.close()
  }

  #giveBack(runtime: number, task: OwnedAttempt, logged: LoggedTask, delayMs: number): void {
    this.results.add(runtime, releaseOf(task, delayMs), logged)
  }

  /** It cannot be read here. A runtime with the right codec can run it. */
  #passOn(runtime: number, task: ClaimedTask): void {
    const text = isWrapped(task.input) ? task.input : task.beat!
    const keys = { ...keysOf(task), err: unreadable(text) }
    this.#core.log.error(keys, 'cannot read the input of a task; leaving it to other runtimes')
    this.#giveBack(runtime, task, { keys: keysOf(task) }, RETRY_MS)
  }

  /** It kills the runtimes that run it. Suspends its instance; the task waits until that is resumed. */
  async #suspend(runtime: number, task: ClaimedTask): Promise<void> {
    const { log, store, values } = this.#core
    const error = new PoisonError(task.deaths, `activity "${task.activity}" as a task`)
    try {
      const [isSuspended] = await store.suspend([task.id], values.encodeError(error))
      if (isSuspended === true) logSuspended(log, keysOf(task), error)
      this.#giveBack(runtime, task, { keys: keysOf(task) }, POISON_PAUSE_MS)
      this.#finder.look([task.iid])
    } catch (err) {
      log.warn({ ...keysOf(task), err }, 'could not suspend the instance of a task; retrying')
      this.#giveBack(runtime, task, { keys: keysOf(task) }, RETRY_MS)
    }
  }

  finished(result: TaskResult, { owner }: TaskVerdict): void {
    const { iid, end } = result
    this.owned.settled.notifyOne()
    this.owned.unblock(taskName(result))
    // Asks when it can be claimed again.
    if (end.kind === 'retry' || end.kind === 'release') this.owned.freed.notifyOne()
    // Even if the store no longer has it: an earlier call may have stored it, and its answer was lost.
    if (end.kind === 'completed' || end.kind === 'failed') this.#finder.hint([{ iid, owner }])
  }

  /** The activity ran, but its result cannot be stored: it has failed. */
  unstorable(runtime: number, result: TaskResult, task: LoggedTask, error: StoreError): void {
    const { log, values } = this.#core
    log.error({ ...task.keys, err: error }, 'could not store the result of a task')
    if (result.end.kind !== 'completed') return
    const reason = new Error(`its result could not be stored: ${error.message}`, { cause: error })
    const payload = values.encodeError(reason)
    this.results.add(runtime, { ...result, end: { kind: 'failed', payload } }, task)
  }
}

/** A task, and which attempt at it. */
type OwnedAttempt = Omit<TaskResult, 'end'>

function attemptOf({ key, token, attempt }: ActivityCall): OwnedAttempt {
  return { ...key, token, attempt }
}

/** A task that was not run: the attempt does not count. */
export function releaseOf(task: OwnedAttempt, delayMs = 0): TaskResult {
  const { iid, execution, command, token, attempt } = task
  return { iid, execution, command, token, attempt, end: { kind: 'release', delayMs } }
}

function keysOf(task: ClaimedTask): LoggedTask['keys'] {
  const { id, workflow, execution, activity, attempt } = task
  return { instanceId: id, workflow, execution, activity, attempt }
}
