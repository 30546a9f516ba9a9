// Carries out what turns asked for, once they are recorded, and rings when it is time.

import type { CommandEvent, IssuedCommand } from '../../replay/execution.ts'
import { TimeoutError } from '../../../base/errors.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { Values } from '../../core/values.ts'
import { type LocalActivities, LocalCall } from '../activities/local-activities.ts'
import { type ActivityWork, deadlineOf, startByOf } from '../../instance/activity-work.ts'
import type { Arrival, LiveInstance } from '../../instance/live-instance.ts'
import { cleanUpUntil } from '../../instance/next-after-turn.ts'
import type { RemoteCommands } from './remote-commands.ts'
import { firesAt } from '../../instance/turn.ts'
import { type UnservedHost, UnservedTags } from './unserved-tags.ts'

// A shorter delay is not worth a commit: after a crash the attempt is made at once.
const RECORDED_DELAY_MS = 1_000
// The alarm of an instance that belongs to no command.
const CLEAN_UP = -2
// Alarms of a command beside its own, which says when it is tried again.
const deadlineAlarm = (command: number): number => -10 - 2 * command
const startAlarm = (command: number): number => -11 - 2 * command

/** What the carrier works with. */
export interface CommandRunnerHost extends UnservedHost {
  readonly values: Values
  /** Runs activities and steps. */
  activities(): LocalActivities
  /** Carries out what is asked of other instances. */
  remoteCommands(): RemoteCommands
  /** Resolves when it is noted what is about to be done, with `false` when it must not be. */
  aboutTo(instance: LiveInstance, doing: string): Promise<boolean>
  /** Whether its task was begun is to be seen. */
  look(iids: readonly number[]): void
  /** Whether activities with this tag run here; empty for none. */
  serves(tag: string): boolean
  /** Whether nothing new may begin. */
  closing(): boolean
  arrive(instance: LiveInstance, arrivals: readonly Arrival[]): void
  turn(instance: LiveInstance): void
  /** These activities of a copy become tasks. */
  leaveToOthers(instance: LiveInstance, commands: readonly number[]): void
  /** It may have nothing to do here for a while. */
  rest(instance: LiveInstance): void
}

/** Carries out the commands of owned copies. */
export class CommandRunner {
  readonly #host: CommandRunnerHost
  readonly #unknown = new Set<string>()
  readonly #unserved: UnservedTags

  constructor(host: CommandRunnerHost) {
    this.#host = host
    this.#unserved = new UnservedTags(host)
  }

  /** Activities that were called and whose code is not here. */
  get unknownActivities(): readonly string[] {
    return [...this.#unknown]
  }

  /** Carries out a command of a turn that is recorded. */
  carryOut(instance: LiveInstance, given: IssuedCommand): void {
    const { event, work } = given
    const { command } = event
    if (!instance.run.open.has(command)) return
    const at = firesAt(event)
    if (at < Infinity) {
      const fired: Arrival = { event: { type: 'fired', command } }
      return this.setAlarm(instance, command, at, () => this.#host.arrive(instance, [fired]))
    }
    if (event.type !== 'activity' && event.type !== 'step') {
      // A child that is known to run, and a message, come by themselves.
      if (event.type !== 'receive' && !instance.children.has(command) && !this.#host.closing()) {
        this.#host.remoteCommands().start(instance, given)
      }
      return
    }
    const activity = work as ActivityWork
    this.#watchLimits(instance, command, activity)
    if (activity.step === undefined && activity.definition === undefined) {
      this.#warnUnknown(instance, activity.name)
    }
    if (event.type === 'activity' && !this.#host.serves(event.tag)) {
      this.#unserved.watch(instance, event)
    }
    if (instance.tasks?.has(command)) return
    const retryAt = instance.attempts.get(command)?.retryAt ?? 0
    const isNow = retryAt === 0 || retryAt <= this.#host.time.now()
    if (this.#runsElsewhere(event, activity)) {
      // The store has no task of it: the instance comes from an export, or from a runtime that ran it.
      if (isNow) (instance.newTasks ??= new Set()).add(command)
      else
        this.setAlarm(instance, command, retryAt, () =>
          this.#host.leaveToOthers(instance, [command]),
        )
    } else if (isNow) this.#startAttempt(instance, given)
    else this.setAlarm(instance, command, retryAt, () => this.#startAttempt(instance, given))
  }

  #startAttempt(instance: LiveInstance, { event: { command }, work }: IssuedCommand): void {
    if (instance.state === 'gone' || this.#host.closing()) return
    const activity = work as ActivityWork
    const attempt = (instance.attempts.get(command)?.attempts ?? 0) + 1
    if (instance.quarantined)
      return void this.#startQuarantined(instance, command, activity, attempt)
    this.#host.activities().start(instance, command, activity, attempt)
  }

  async #startQuarantined(
    instance: LiveInstance,
    command: number,
    work: ActivityWork,
    attempt: number,
  ): Promise<void> {
    const kind = work.step === undefined ? 'activity' : 'step'
    const may = await this.#host.aboutTo(instance, `${kind} "${work.name}" (command ${command})`)
    if (!may || !instance.run.open.has(command) || instance.running.has(command)) return
    this.#host.activities().start(instance, command, work, attempt)
  }

  #warnUnknown(instance: LiveInstance, activity: string): void {
    if (this.#unknown.has(activity)) return
    this.#unknown.add(activity)
    this.#host.log.warn(
      { ...instanceKeys(instance), activity },
      'no code is registered here for this activity; it waits for a runtime that has it',
    )
  }

  /** What has to begin or to be over by some time is looked at then. */
  #watchLimits(instance: LiveInstance, command: number, work: ActivityWork): void {
    const { totalTimeoutMs, startTimeoutMs } = work.options
    if (totalTimeoutMs !== undefined) {
      this.setAlarm(instance, deadlineAlarm(command), deadlineOf(work), () =>
        this.#outOfTime(instance, command, work, totalTimeoutMs, 'took longer than'),
      )
    }
    if (startTimeoutMs === undefined || (instance.attempts.get(command)?.attempts ?? 0) > 0) return
    this.setAlarm(instance, startAlarm(command), startByOf(work), () => {
      const call = instance.running.get(command)
      // Whether somebody has begun a task, the store knows.
      if (instance.tasks?.has(command)) this.#host.look([instance.iid])
      else if (call instanceof LocalCall && !call.begun) this.notStarted(instance, command, work)
    })
  }

  /** An activity that nobody has begun in time fails. */
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
    // Its result may have come already, and wait for the next turn.
    if (
      !instance.run.open.has(command) ||
      instance.arrivals.some(({ event }) => settles(event, command))
    ) {
      return
    }
    const kind = work.step === undefined ? 'activity' : 'step'
    const error = new TimeoutError(`${kind} "${work.name}" ${what} ${ms} ms`, ms)
    const attempt = instance.running.get(command)
    instance.running.delete(command)
    attempt?.abort('it is out of time')
    this.cancelAlarm(instance, command)
    const attempts = instance.attempts.get(command)?.attempts ?? 0
    this.#host.log.warn(
      {
        ...instanceKeys(instance),
        activity: work.name,
        attempt: attempts + Number(attempt !== undefined),
        err: error,
      },
      'activity failed; giving up',
    )
    const text = this.#host.values.encodeError(error)
    this.#host.arrive(instance, [{ event: { type: 'failed', command, error: text } }])
  }

  /** Rings at a moment of store time; `command` is what it is for. */
  setAlarm(instance: LiveInstance, command: number, at: number, ring: () => void): void {
    const alarm = {
      ring: () => {
        instance.alarms.delete(command)
        ring()
      },
    }
    this.cancelAlarm(instance, command)
    instance.alarms.set(command, { alarm, at })
    this.#host.alarms.set(alarm, at)
  }

  cancelAlarm(instance: LiveInstance, command: number): void {
    const set = instance.alarms.get(command)
    if (set === undefined) return
    this.#host.alarms.cancel(set.alarm)
    instance.alarms.delete(command)
  }

  /** Clean-up after a cancellation has its time; then the instance ends as it stands. */
  watchCleanUp(instance: LiveInstance): void {
    const until = cleanUpUntil(instance)
    if (until === undefined || instance.alarms.has(CLEAN_UP)) return
    this.setAlarm(instance, CLEAN_UP, until, () => {
      this.#host.log.warn(
        instanceKeys(instance),
        'clean-up took too long: the instance ends as it stands',
      )
      instance.stop = { status: 'cancelled', reason: instance.run.cancelled!.reason }
      this.#host.turn(instance)
    })
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(
    instance: LiveInstance,
    command: number,
    attempt: number,
    delayMs: number,
    error: string,
  ): void {
    const given = instance.run.open.get(command)
    if (given === undefined || instance.state === 'gone') return
    const retryAt = Math.ceil(this.#host.time.now() + delayMs)
    instance.attempts.set(command, { attempts: attempt, retryAt })
    this.setAlarm(instance, command, retryAt, () => this.#startAttempt(instance, given))
    if (delayMs >= RECORDED_DELAY_MS) {
      this.#host.arrive(instance, [
        { event: { type: 'attempt', command, attempt, retryAt, error } },
      ])
    } else {
      this.#host.rest(instance)
    }
  }

  /** Limits of what is settled ring no more. */
  forgetLimits(instance: LiveInstance): void {
    for (const key of instance.alarms.keys()) {
      if (key <= deadlineAlarm(0) && !instance.run.open.has(Math.floor((-10 - key) / 2))) {
        this.cancelAlarm(instance, key)
      }
    }
  }

  /** Nothing rings for this copy any more. */
  silence(instance: LiveInstance): void {
    for (const { alarm } of instance.alarms.values()) this.#host.alarms.cancel(alarm)
    instance.alarms.clear()
  }

  /** Whether the owner leaves it to others: it was asked to, or has no code for it, or does not serve it. */
  #runsElsewhere(event: CommandEvent, { definition }: ActivityWork): boolean {
    if (event.type !== 'activity') return false
    return event.where === 'task' || definition === undefined || !this.#host.serves(event.tag)
  }
}

/** Whether a command is settled by what arrived. */
function settles(event: Arrival['event'], command: number): boolean {
  return (event.type === 'completed' || event.type === 'failed') && event.command === command
}
