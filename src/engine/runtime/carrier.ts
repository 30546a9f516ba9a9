// Carries out what turns asked for, once they are recorded, and rings when it is time.

import type { Logger } from '../../base/log.ts'
import type { Given } from '../replay/execution.ts'
import type { Activities, ActivityWork } from './activities.ts'
import type { Alarms } from './alarms.ts'
import type { Arrival, Copy } from './copy.ts'
import { cleanUpUntil } from './next-at-rest.ts'
import type { Outgoing } from './outgoing.ts'
import type { StoreClock } from './store-clock.ts'
import { firesAt } from './take-turn.ts'

// How often an instance comes back to see whether the code of its activity is there.
const LOOK_FOR_CODE_MS = 10_000
// A shorter delay is not worth a commit: after a crash the attempt is made at once.
const RECORDED_DELAY_MS = 1_000
// The alarm of an instance that belongs to no command.
const CLEAN_UP = -2

/** What the carrier works with. */
export interface CarrierHost {
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly log: Logger
  /** Runs activities and steps. */
  activities(): Activities
  /** Carries out what is asked of other instances. */
  outgoing(): Outgoing
  /** An instance needs code that is not here. */
  lacksCode(): void
  /** Whether nothing new may begin. */
  closing(): boolean
  arrive(copy: Copy, arrivals: readonly Arrival[]): void
  turn(copy: Copy): void
  /** It may have nothing to do here for a while. */
  rest(copy: Copy): void
}

/** Carries out the commands of owned copies. */
export class Carrier {
  readonly #host: CarrierHost
  readonly #warned = new Set<string>()

  constructor(host: CarrierHost) {
    this.#host = host
  }

  /** Carries out a command of a turn that is recorded. */
  carryOut(copy: Copy, given: Given): void {
    const { event } = given
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
    const retryAt = copy.attempts.get(event.command)?.retryAt ?? 0
    if (retryAt <= this.#host.time.now()) this.#startAttempt(copy, given)
    else this.setAlarm(copy, event.command, retryAt, () => this.#startAttempt(copy, given))
  }

  #startAttempt(copy: Copy, { event, work }: Given): void {
    if (copy.state === 'gone' || this.#host.closing()) return
    const activity = work as ActivityWork
    if (activity.step === undefined && activity.definition === undefined) {
      return this.#lacksCode(copy, { event, work, stack: undefined }, activity.name)
    }
    const attempt = (copy.attempts.get(event.command)?.attempts ?? 0) + 1
    this.#host.activities().start(copy, event.command, activity, attempt)
  }

  /** Gives the instance away for a while, in case another runtime has the code. */
  #lacksCode(copy: Copy, given: Given, activity: string): void {
    const { time, log } = this.#host
    const { command } = given.event
    if (!this.#warned.has(activity)) {
      this.#warned.add(activity)
      log.warn(
        { activity, id: copy.id },
        'no code is registered here for this activity; its instances wait for a runtime that has it',
      )
    }
    this.#host.lacksCode()
    const retryAt = time.now() + LOOK_FOR_CODE_MS
    copy.attempts.set(command, { attempts: copy.attempts.get(command)?.attempts ?? 0, retryAt })
    this.setAlarm(copy, command, retryAt, () => this.#startAttempt(copy, given))
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
      this.#host.log.warn({ id: copy.id }, 'clean-up took too long: the instance ends as it stands')
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

  /** Nothing rings for this copy any more. */
  silence(copy: Copy): void {
    for (const { alarm } of copy.alarms.values()) this.#host.alarms.cancel(alarm)
    copy.alarms.clear()
  }
}
