// Carries out the commands of turns once they are committed: activities, timers, calls of other
// instances. Fires timers when they are due.

import { TimeoutError } from '../../../base/errors.ts'
import type { ContextHost } from '../../context/frame.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import { type ActivityWork, deadlineOf, startByOf } from '../../instance/activity-work.ts'
import type { Arrival } from '../../instance/arrival.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { cleanUpUntil } from '../../instance/next-after-turn.ts'
import { firesAt } from '../../instance/turn.ts'
import type { CommandEvent, IssuedCommand } from '../../replay/execution.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Quarantine } from './quarantine.ts'
import type { RemoteCommands } from './remote-commands.ts'
import type { ActivityServices, Finder } from './ports.ts'
import type { TurnLoop } from './turn-loop.ts'
import { UnservedTags } from './unserved-tags.ts'

// A shorter delay is not worth a commit: after a crash the attempt is made at once.
const MIN_RECORDED_DELAY_MS = 1_000
// The timer of an instance that belongs to no command.
const CLEAN_UP = -2
// Timers of a command beside its own, which says when it is tried again.
const deadlineTimer = (command: number): number => -10 - 2 * command
const startTimer = (command: number): number => -11 - 2 * command

/** What follows from commands. Implemented by the scheduler. */
export interface CommandListener {
  /** Something arrived for the next turn of an instance. */
  arrive(instance: LiveInstance, arrival: Arrival): void
  /** These activities become tasks. */
  leaveToOthers(instance: LiveInstance, commands: readonly number[]): void
  /** An instance may have nothing to do here for a while. */
  releaseIfIdle(instance: LiveInstance): void
}

/** Carries out the commands of owned instances. */
export class CommandRunner {
  readonly #core: RuntimeCore
  readonly #quarantine: Quarantine
  readonly #events: CommandListener
  readonly #tags: Pick<ContextHost, 'serves'>
  readonly #unknown = new Set<string>()
  readonly #unserved: UnservedTags
  readonly #finder: Finder
  #activities!: ActivityServices['activities']
  #remote!: RemoteCommands
  #turns!: TurnLoop

  constructor(
    core: RuntimeCore,
    quarantine: Quarantine,
    events: CommandListener,
    finder: Finder,
    tags: Pick<ContextHost, 'serves'>,
  ) {
    this.#core = core
    this.#quarantine = quarantine
    this.#events = events
    this.#finder = finder
    this.#tags = tags
    this.#unserved = new UnservedTags(core)
  }

  /** Call it before any command is carried out. */
  connect({ activities }: ActivityServices, remote: RemoteCommands, turns: TurnLoop): void {
    this.#activities = activities
    this.#remote = remote
    this.#turns = turns
  }

  /** Activities that were called and whose code is not here. */
  get unknownActivities(): readonly string[] {
    return [...this.#unknown]
  }

  /** Carries out a command of a committed turn. */
  carryOut(instance: LiveInstance, issued: IssuedCommand): void {
    const { event } = issued
    const { command } = event
    if (!instance.run.open.has(command)) return
    const at = firesAt(event)
    if (at < Infinity) {
      const fired: Arrival = { event: { type: 'fired', command } }
      return this.setTimer(instance, command, at, () => this.#events.arrive(instance, fired))
    }
    if (event.type === 'activity' || event.type === 'step') {
      return this.#call(instance, issued, event)
    }
    // A message arrives by itself, and so does the result of a child that is known to run.
    if (event.type === 'receive' || instance.calls.child(command) !== undefined) return
    if (!this.#core.closing.aborted) this.#remote.start(instance, issued)
  }

  #call(
    instance: LiveInstance,
    issued: IssuedCommand,
    event: Extract<CommandEvent, { type: 'activity' | 'step' }>,
  ): void {
    const { command } = event
    const { calls } = instance
    const work = issued.work as ActivityWork
    this.#watchLimits(instance, command, work)
    if (work.step === undefined && work.definition === undefined) {
      this.#warnUnknown(instance, work.name)
    }
    if (event.type === 'activity' && !this.#tags.serves(event.tag)) {
      this.#unserved.watch(instance, event)
    }
    if (calls.isTask(command)) return
    const retryAt = calls.retryAt(command) ?? 0
    const isNow = retryAt === 0 || retryAt <= this.#core.time.now()
    if (this.#runsElsewhere(event, work)) {
      // The store has no task for it: the instance was imported, or its last owner ran it.
      if (isNow) calls.leaveToOthers(command)
      else
        this.setTimer(instance, command, retryAt, () =>
          this.#events.leaveToOthers(instance, [command]),
        )
    } else if (isNow) this.#startAttempt(instance, issued)
    else this.setTimer(instance, command, retryAt, () => this.#startAttempt(instance, issued))
  }

  /** Whether another runtime has to run it: it is a task, or this runtime lacks its code or its tag. */
  #runsElsewhere(event: CommandEvent, { definition }: ActivityWork): boolean {
    if (event.type !== 'activity') return false
    return event.where === 'task' || definition === undefined || !this.#tags.serves(event.tag)
  }

  #startAttempt(instance: LiveInstance, { event: { command }, work }: IssuedCommand): void {
    if (instance.isGone || this.#core.closing.aborted) return
    const activity = work as ActivityWork
    const attempt = instance.calls.failures(command) + 1
    if (instance.isQuarantined) {
      return void this.#startQuarantined(instance, command, activity, attempt)
    }
    this.#activities.start(instance, command, activity, attempt)
  }

  async #startQuarantined(
    instance: LiveInstance,
    command: number,
    work: ActivityWork,
    attempt: number,
  ): Promise<void> {
    const doing = `${kindOf(work)} "${work.name}" (command ${command})`
    const may = await this.#quarantine.mayRun(instance, doing)
    if (!may || !instance.run.open.has(command)) return
    if (instance.calls.attempt(command) !== undefined) return
    this.#activities.start(instance, command, work, attempt)
  }

  #warnUnknown(instance: LiveInstance, activity: string): void {
    if (this.#unknown.has(activity)) return
    this.#unknown.add(activity)
    this.#core.log.warn(
      { ...instanceKeys(instance), activity },
      'no code is registered here for this activity; it waits for a runtime that has it',
    )
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(
    instance: LiveInstance,
    command: number,
    attempt: number,
    delayMs: number,
    error: string,
  ): void {
    const issued = instance.run.open.get(command)
    if (issued === undefined || instance.isGone) return
    const retryAt = Math.ceil(this.#core.time.now() + delayMs)
    instance.calls.willRetry(command, { attempts: attempt, retryAt })
    this.setTimer(instance, command, retryAt, () => this.#startAttempt(instance, issued))
    if (delayMs >= MIN_RECORDED_DELAY_MS) {
      const event = { type: 'attempt', command, attempt, retryAt, error } as const
      this.#events.arrive(instance, { event })
    } else {
      this.#events.releaseIfIdle(instance)
    }
  }

  /** The code no longer waits for this command. */
  drop(instance: LiveInstance, command: number): void {
    instance.calls.abort(command, 'its result is no longer needed')
    instance.calls.settled(command)
    instance.timers.cancel(this.#core.alarms, command)
  }

  /** Sets timers for the limits of an activity: to begin in time, and to end in time. */
  #watchLimits(instance: LiveInstance, command: number, work: ActivityWork): void {
    const { totalTimeoutMs, startTimeoutMs } = work.options
    const { calls } = instance
    if (totalTimeoutMs !== undefined) {
      this.setTimer(instance, deadlineTimer(command), deadlineOf(work), () =>
        this.#outOfTime(instance, command, work, totalTimeoutMs, 'took longer than'),
      )
    }
    if (startTimeoutMs === undefined || calls.failures(command) > 0) return
    this.setTimer(instance, startTimer(command), startByOf(work), () => {
      // Only the store knows whether a task has begun.
      if (calls.isTask(command)) this.#finder.look([instance.iid])
      else if (calls.attempt(command)?.begun === false) this.notStarted(instance, command, work)
    })
  }

  /** An activity that did not begin in time fails. */
  notStarted(instance: LiveInstance, command: number, work: ActivityWork): void {
    const { startTimeoutMs } = work.options
    this.#outOfTime(instance, command, work, startTimeoutMs!, 'did not begin within')
  }

  #outOfTime(
    instance: LiveInstance,
    command: number,
    work: ActivityWork,
    ms: number,
    what: string,
  ): void {
    const { calls, inbox, run, timers } = instance
    // Its result may already be waiting for the next turn.
    if (!run.open.has(command) || inbox.hasResultOf(command)) return
    const error = new TimeoutError(`${kindOf(work)} "${work.name}" ${what} ${ms} ms`, ms)
    const wasRunning = calls.abort(command, 'it timed out')
    timers.cancel(this.#core.alarms, command)
    this.#core.log.warn(
      {
        ...instanceKeys(instance),
        activity: work.name,
        attempt: calls.failures(command) + Number(wasRunning),
        err: error,
      },
      'activity failed; giving up',
    )
    const text = this.#core.values.encodeError(error)
    this.#events.arrive(instance, { event: { type: 'failed', command, error: text } })
  }

  /** Clean-up after a cancellation has limited time; then the instance ends as it is. */
  watchCleanUp(instance: LiveInstance): void {
    const until = cleanUpUntil(instance)
    if (until === undefined || instance.timers.has(CLEAN_UP)) return
    this.setTimer(instance, CLEAN_UP, until, () => {
      this.#core.log.warn(instanceKeys(instance), 'clean-up took too long; ending the instance')
      const { reason } = instance.run.cancelled!
      instance.inbox.stopWith({ status: 'cancelled', reason })
      this.#turns.enqueue(instance)
    })
  }

  /** Calls `ring` at a moment of store time; `key` tells timers apart. */
  setTimer(instance: LiveInstance, key: number, at: number, ring: () => void): void {
    instance.timers.set(this.#core.alarms, key, at, ring)
  }

  /** Cancels the limits of settled commands. */
  forgetLimits({ timers, run }: LiveInstance): void {
    for (const key of timers.keys) {
      if (key <= deadlineTimer(0) && !run.open.has(Math.floor((-10 - key) / 2))) {
        timers.cancel(this.#core.alarms, key)
      }
    }
  }
}

function kindOf({ step }: ActivityWork): 'activity' | 'step' {
  return step === undefined ? 'activity' : 'step'
}
