// Heartbeats on their way to the store, about once a second for all attempts together.
//
//   H1. What is not told in detail, and has no limit on its silence, is not written at all.
//   H2. The first one of an activity that runs at the owner of its instance makes it a task, held by
//       this runtime: from then on attempts and details outlive the owner.
//   H3. An attempt that the store knows nothing of any more is told to stop.

import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { Beat, TaskKey, TaskStore } from '../../../store/tasks.ts'
import { type Directive, idle, proceed, sleep } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { ActivityCall } from './activity-call.ts'
import { LocalCall } from './local-activities.ts'
import { taskFor } from '../../instance/task-for.ts'

const PACE_MS = 1_000
const BACKOFF = { initial: 100, max: 5_000 }

/** What heartbeats need of their runtime. */
export interface HeartbeatHost {
  readonly store: TaskStore
  readonly clock: Clock
  readonly log: Logger
  runtimeNumber(): number
  /** An activity of an owned instance has become a task. */
  becameTask(call: LocalCall): void
  /** Nobody waits for this attempt any more. */
  unwanted(call: ActivityCall): void
}

/** Writes heartbeats. */
export class Heartbeats {
  readonly #host: HeartbeatHost
  /** The latest details of each, not written yet. */
  readonly #waiting = new Map<ActivityCall, string | undefined>()
  /** Those that are being made tasks. */
  readonly #becoming = new Map<ActivityCall, Promise<boolean>>()
  readonly #answers = new Map<ActivityCall, (isTask: boolean) => void>()
  readonly #wake = notify()
  #writtenMs = -PACE_MS

  constructor(host: HeartbeatHost) {
    this.#host = host
  }

  /** An attempt says that it goes on. */
  beat(call: ActivityCall, details: string | undefined): void {
    if (details === undefined && call.called.heartbeatTimeoutMs === undefined) return
    if (call instanceof LocalCall && staysHere(call)) {
      // Code written in place cannot become a task: another attempt here finds what this one told.
      if (details !== undefined) call.instance.calls.stepReported(call.command, details)
      return
    }
    this.#waiting.set(call, details ?? this.#waiting.get(call))
    if (isUntold(call) && !this.#becoming.has(call)) {
      const becoming = new Promise<boolean>((resolve) => this.#answers.set(call, resolve))
      this.#becoming.set(call, becoming)
    }
    this.#wake.notifyOne()
  }

  /** Resolves when it is known whether the call has become a task. */
  becomesTask(call: ActivityCall): Promise<boolean> | undefined {
    if (call instanceof LocalCall && call.task !== 'none') return Promise.resolve(true)
    return this.#becoming.get(call)
  }

  /** Its attempt is over. Only one that is followed by another has to tell how far it was, and at once. */
  over(call: ActivityCall, isFollowed: boolean): Promise<void> | undefined {
    if (!this.#waiting.has(call)) return undefined
    const details = this.#waiting.get(call)
    this.#waiting.delete(call)
    // A store that does not answer is asked again with the next beat, if there is one.
    if (isFollowed) return this.#write([[call, details]]).catch(() => {})
    if (isUntold(call)) this.#settle(call, false)
    return undefined
  }

  /** Those of which it is not known yet whether they have become tasks. */
  becoming(): readonly TaskKey[] {
    return [...this.#becoming.keys()].map(({ key }) => key)
  }

  work(): Worker {
    const { clock, log } = this.#host
    return worker('heartbeats', { wakeOn: [this.#wake], clock, log, backoff: BACKOFF }, () =>
      this.#pass(),
    )
  }

  async #pass(): Promise<Directive> {
    if (this.#waiting.size === 0) return idle()
    const early = this.#writtenMs + PACE_MS - this.#host.clock.now()
    if (early > 0) return sleep(early)
    this.#writtenMs = this.#host.clock.now()
    await this.#write([...this.#waiting])
    return proceed()
  }

  async #write(beats: readonly (readonly [ActivityCall, string | undefined])[]): Promise<void> {
    for (const [call] of beats) this.#waiting.delete(call)
    const told = beats.filter(([call]) => call.wanted)
    // Called off before its first one was written: it must not become a task any more.
    for (const [call] of beats) if (!call.wanted) this.#settle(call, false)
    if (told.length === 0) return
    try {
      const wanted = await this.#host.store.beat(
        this.#host.runtimeNumber(),
        told.map(([call, details]) => toBeat(call, details)),
      )
      for (const [i, [call]] of told.entries()) this.#answered(call, wanted[i]!)
    } catch (error) {
      // Tried again: later ones are there already, or these are still the latest.
      for (const [call, details] of told) {
        if (!this.#waiting.has(call)) this.#waiting.set(call, details)
      }
      throw error
    }
  }

  #answered(call: ActivityCall, isWanted: boolean): void {
    if (this.#becoming.has(call) && isWanted) this.#host.becameTask(call as LocalCall)
    this.#settle(call, isWanted)
    if (!isWanted) this.#host.unwanted(call)
  }

  /** Whether it has become a task is known now. */
  #settle(call: ActivityCall, isTask: boolean): void {
    const answer = this.#answers.get(call)
    this.#answers.delete(call)
    this.#becoming.delete(call)
    answer?.(isTask)
  }
}

/** Code written in place; and a transaction, whose result is judged on what it was begun under. */
function staysHere({ called }: LocalCall): boolean {
  return called.step !== undefined || called.definition?.transaction !== undefined
}

/** Whether the store knows nothing of it so far. */
function isUntold(call: ActivityCall): call is LocalCall {
  return call instanceof LocalCall && call.task === 'none'
}

function toBeat(call: ActivityCall, details: string | undefined): Beat {
  const { heartbeatTimeoutMs } = call.called
  const { key, token, attempt } = call
  return {
    ...key,
    token,
    attempt,
    details: details ?? null,
    // The runtime itself keeps the limit. The store only sees what is written once in a while, and has
    // to notice when nobody writes any more.
    silentMs: heartbeatTimeoutMs === undefined ? null : heartbeatTimeoutMs + 2 * PACE_MS,
    local: isUntold(call)
      ? {
          epoch: call.instance.epoch,
          task: taskFor(call.instance, call.command, call.work, call.token),
        }
      : null,
  }
}
