// Carries out what turns asked for, once they are recorded, and rings when it is time.

import type { CommandEvent, Given } from '../replay/execution.ts'
import { TimeoutError } from '../../base/errors.ts'
import { instanceKeys } from '../log-keys.ts'
import type { Values } from '../values.ts'
import { type Activities, LocalCall } from './activities.ts'
import { type ActivityWork, deadlineOf, startByOf } from './activity-work.ts'
import type { Arrival, Copy } from './copy.ts'
import { cleanUpUntil } from './next-at-rest.ts'
import type { Outgoing } from './outgoing.ts'
import { firesAt } from './take-turn.ts'
import { type UnservedHost, UnservedTags } from './unserved-tags.ts'

// A shorter delay is not worth a commit: after a crash the attempt is made at once.
const RECORDED_DELAY_MS = 1_000
// The alarm of an instance that belongs to no command.
const CLEAN_UP = -2
// Alarms of a command beside its own, which says when it is tried again.
const deadlineAlarm = (command: number): number => -10 - 2 * command
const startAlarm = (command: number): number => -11 - 2 * command

/** What the carrier works with. */
export interface CarrierHost extends UnservedHost {
  readonly values: Values
  /** Runs activities and steps. */
  activities(): Activities
  /** Carries out what is asked of other instances. */
  outgoing(): Outgoing
  /** Resolves when it is noted what is about to be done, with `false` when it must not be. */
  aboutTo(copy: Copy, doing: string): Promise<boolean>
  /** Whether its task was begun is to be seen. */
  look(iids: readonly number[]): void
  /** Whether activities with this tag run here; empty for none. */
  serves(tag: string): boolean
  /** Whether nothing new may begin. */
  closing(): boolean
  arrive(copy: Copy, arrivals: readonly Arrival[]): void
  turn(copy: Copy): void
  /** These activities of a copy become tasks. */
  leaveToOthers(copy: Copy, commands: readonly number[]): void
  /** It may have nothing to do here for a while. */
  rest(copy: Copy): void
}

/** Carries out the commands of owned copies. */
export class Carrier {
  readonly #host: CarrierHost
  readonly #unknown = new Set<string>()
  readonly #unserved: UnservedTags

  constructor(host: CarrierHost) {
    this.#host = host
    this.#unserved = new UnservedTags(host)
  }

  /** Activities that were called and whose code is not here. */
  get unknownActivities(): readonly string[] {
    return [...this.#unknown]
  }

  /** Carries out a command of a turn that is recorded. */
  carryOut(copy: Copy, given: Given): void {
    const { event, work } = given
    const { command } = event
    if (!copy.run.open.has(command)) return
    const at = firesAt(event)
    if (at < Infinity) {
      const fired: Arrival = { event: { type: 'fired', command } }
      return this.setAlarm(copy, command, at, () => this.#host.arrive(copy, [fired]))
    }
    if (event.type !== 'activity' && event.type !== 'step') {
      // A child that is known to run, and a message, come by themselves.
      if (event.type !== 'receive' && !copy.children.has(command) && !this.#host.closing()) {
        this.#host.outgoing().start(copy, given)
      }
      return
    }
    const activity = work as ActivityWork
    this.#watchLimits(copy, command, activity)
    if (activity.step === undefined && activity.definition === undefined) {
      this.#warnUnknown(copy, activity.name)
    }
    if (event.type === 'activity' && !this.#host.serves(event.tag)) {
      this.#unserved.watch(copy, event)
    }
    if (copy.tasks?.has(command)) return
    const retryAt = copy.attempts.get(command)?.retryAt ?? 0
    const isNow = retryAt === 0 || retryAt <= this.#host.time.now()
    if (this.#runsElsewhere(event, activity)) {
      // The store has no task of it: the instance comes from an export, or from a runtime that ran it.
      if (isNow) (copy.newTasks ??= new Set()).add(command)
      else this.setAlarm(copy, command, retryAt, () => this.#host.leaveToOthers(copy, [command]))
    } else if (isNow) this.#startAttempt(copy, given)
    else this.setAlarm(copy, command, retryAt, () => this.#startAttempt(copy, given))
  }

  #startAttempt(copy: Copy, { event: { command }, work }: Given): void {
    if (copy.state === 'gone' || this.#host.closing()) return
    const activity = work as ActivityWork
    const attempt = (copy.attempts.get(command)?.attempts ?? 0) + 1
    if (copy.careful) return void this.#startCarefully(copy, command, activity, attempt)
    this.#host.activities().start(copy, command, activity, attempt)
  }

  async #startCarefully(
    copy: Copy,
    command: number,
    work: ActivityWork,
    attempt: number,
  ): Promise<void> {
    const kind = work.step === undefined ? 'activity' : 'step'
    const may = await this.#host.aboutTo(copy, `${kind} "${work.name}" (command ${command})`)
    if (!may || !copy.run.open.has(command) || copy.running.has(command)) return
    this.#host.activities().start(copy, command, work, attempt)
  }

  #warnUnknown(copy: Copy, activity: string): void {
    if (this.#unknown.has(activity)) return
    this.#unknown.add(activity)
    this.#host.log.warn(
      { ...instanceKeys(copy), activity },
      'no code is registered here for this activity; it waits for a runtime that has it',
    )
  }

  /** What has to begin or to be over by some time is looked at then. */
  #watchLimits(copy: Copy, command: number, work: ActivityWork): void {
    const { totalTimeoutMs, startTimeoutMs } = work.options
    if (totalTimeoutMs !== undefined) {
      this.setAlarm(copy, deadlineAlarm(command), deadlineOf(work), () =>
        this.#outOfTime(copy, command, work, totalTimeoutMs, 'took longer than'),
      )
    }
    if (startTimeoutMs === undefined || (copy.attempts.get(command)?.attempts ?? 0) > 0) return
    this.setAlarm(copy, startAlarm(command), startByOf(work), () => {
      const call = copy.running.get(command)
      // Whether somebody has begun a task, the store knows.
      if (copy.tasks?.has(command)) this.#host.look([copy.iid])
      else if (call instanceof LocalCall && !call.begun) this.notStarted(copy, command, work)
    })
  }

  /** An activity that nobody has begun in time fails. */
  notStarted(copy: Copy, command: number, work: ActivityWork): void {
    const { startTimeoutMs } = work.options
    this.#outOfTime(copy, command, work, startTimeoutMs!, 'did not begin within')
  }

  #outOfTime(copy: Copy, command: number, work: ActivityWork, ms: number, what: string): void {
    // Its result may have come already, and wait for the next turn.
    if (!copy.run.open.has(command) || copy.arrivals.some(({ event }) => settles(event, command))) {
      return
    }
    const kind = work.step === undefined ? 'activity' : 'step'
    const error = new TimeoutError(`${kind} "${work.name}" ${what} ${ms} ms`, ms)
    const attempt = copy.running.get(command)
    copy.running.delete(command)
    attempt?.abort('it is out of time')
    this.cancelAlarm(copy, command)
    const attempts = copy.attempts.get(command)?.attempts ?? 0
    this.#host.log.warn(
      {
        ...instanceKeys(copy),
        activity: work.name,
        attempt: attempts + Number(attempt !== undefined),
        err: error,
      },
      'activity failed; giving up',
    )
    const text = this.#host.values.encodeError(error)
    this.#host.arrive(copy, [{ event: { type: 'failed', command, error: text } }])
  }

  /** Rings at a moment of store time; `command` is what it is for. */
  setAlarm(copy: Copy, command: number, at: number, ring: () => void): void {
    const alarm = {
      ring: () => {
        copy.alarms.delete(command)
        ring()
      },
    }
    this.cancelAlarm(copy, command)
    copy.alarms.set(command, { alarm, at })
    this.#host.alarms.set(alarm, at)
  }

  cancelAlarm(copy: Copy, command: number): void {
    const set = copy.alarms.get(command)
    if (set === undefined) return
    this.#host.alarms.cancel(set.alarm)
    copy.alarms.delete(command)
  }

  /** Clean-up after a cancellation has its time; then the instance ends as it stands. */
  watchCleanUp(copy: Copy): void {
    const until = cleanUpUntil(copy)
    if (until === undefined || copy.alarms.has(CLEAN_UP)) return
    this.setAlarm(copy, CLEAN_UP, until, () => {
      this.#host.log.warn(
        instanceKeys(copy),
        'clean-up took too long: the instance ends as it stands',
      )
      copy.stop = { status: 'cancelled', reason: copy.run.cancelled!.reason }
      this.#host.turn(copy)
    })
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(copy: Copy, command: number, attempt: number, delayMs: number, error: string): void {
    const given = copy.run.open.get(command)
    if (given === undefined || copy.state === 'gone') return
    const retryAt = Math.ceil(this.#host.time.now() + delayMs)
    copy.attempts.set(command, { attempts: attempt, retryAt })
    this.setAlarm(copy, command, retryAt, () => this.#startAttempt(copy, given))
    if (delayMs >= RECORDED_DELAY_MS) {
      this.#host.arrive(copy, [{ event: { type: 'attempt', command, attempt, retryAt, error } }])
    } else {
      this.#host.rest(copy)
    }
  }

  /** Limits of what is settled ring no more. */
  forgetLimits(copy: Copy): void {
    for (const key of copy.alarms.keys()) {
      if (key <= deadlineAlarm(0) && !copy.run.open.has(Math.floor((-10 - key) / 2))) {
        this.cancelAlarm(copy, key)
      }
    }
  }

  /** Nothing rings for this copy any more. */
  silence(copy: Copy): void {
    for (const { alarm } of copy.alarms.values()) this.#host.alarms.cancel(alarm)
    copy.alarms.clear()
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
