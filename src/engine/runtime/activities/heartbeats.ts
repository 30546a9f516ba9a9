// Sends heartbeats to the store, about once a second for all attempts together.
//
//   - A heartbeat without details, of an activity without a heartbeat timeout, is not sent at all.
//   - The first heartbeat of an activity that runs at the owner of its instance makes it a task that
//     this runtime owns: from then on attempts and details outlive the owner of the instance.
//   - An attempt that the store no longer knows is aborted.

import { notify } from '../../../base/sync/notify.ts'
import type { Beat, TaskKey } from '../../../store/tasks.ts'
import { type Directive, idle, proceed, sleep } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Registration } from '../discover/registration.ts'
import type { ActivityCall } from './activity-call.ts'
import { taskFor } from '../../instance/task-for.ts'
import { LocalCall } from './local-call.ts'

const PACE_MS = 1_000
const BACKOFF = { initial: 100, max: 5_000 }

/** Receives the store's answers to heartbeats. */
export interface HeartbeatWatcher {
  /** An activity of an owned instance has become a task that this runtime owns. */
  becameTask(call: LocalCall): void
  /** The attempt is no longer wanted. */
  unwanted(call: ActivityCall): void
}

/** Sends heartbeats. */
export class Heartbeats {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  #watcher!: HeartbeatWatcher
  /** The latest details of each, not sent yet. */
  readonly #waiting = new Map<ActivityCall, string | undefined>()
  /** Calls that are becoming tasks. */
  readonly #becoming = new Map<ActivityCall, Promise<boolean>>()
  readonly #answers = new Map<ActivityCall, (isTask: boolean) => void>()
  readonly #wake = notify()
  #writtenMs = -PACE_MS

  constructor(core: RuntimeCore, registration: Registration) {
    this.#core = core
    this.#registration = registration
  }

  reportTo(watcher: HeartbeatWatcher): void {
    this.#watcher = watcher
  }

  /** An attempt is alive; `details` are encoded. */
  beat(call: ActivityCall, details: string | undefined): void {
    if (details === undefined && call.called.heartbeatTimeoutMs === undefined) return
    if (call instanceof LocalCall && staysHere(call)) {
      // It cannot become a task: the next attempt here finds these details.
      if (details !== undefined) call.instance.calls.stepReported(call.command, details)
      return
    }
    this.#waiting.set(call, details ?? this.#waiting.get(call))
    if (isUnknown(call) && !this.#becoming.has(call)) {
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

  /** Its attempt has ended. Sends its latest details at once, but only if another attempt follows. */
  over(call: ActivityCall, isFollowed: boolean): Promise<void> | undefined {
    if (!this.#waiting.has(call)) return undefined
    const details = this.#waiting.get(call)
    this.#waiting.delete(call)
    // If the store does not answer, the next heartbeat is sent as usual, if there is one.
    if (isFollowed) return this.#write([[call, details]]).catch(() => {})
    if (isUnknown(call)) this.#settle(call, false)
    return undefined
  }

  /** Activities that are becoming tasks: the store has not answered yet. */
  becoming(): readonly TaskKey[] {
    return [...this.#becoming.keys()].map(({ key }) => key)
  }

  work(): Worker {
    const { clock, log } = this.#core
    return worker('heartbeats', { wakeOn: [this.#wake], clock, log, backoff: BACKOFF }, () =>
      this.#pass(),
    )
  }

  async #pass(): Promise<Directive> {
    if (this.#waiting.size === 0) return idle()
    const early = this.#writtenMs + PACE_MS - this.#core.clock.now()
    if (early > 0) return sleep(early)
    this.#writtenMs = this.#core.clock.now()
    await this.#write([...this.#waiting])
    return proceed()
  }

  async #write(beats: readonly (readonly [ActivityCall, string | undefined])[]): Promise<void> {
    for (const [call] of beats) this.#waiting.delete(call)
    const wanted = beats.filter(([call]) => call.wanted)
    // Cancelled before its first heartbeat was sent: it must not become a task.
    for (const [call] of beats) if (!call.wanted) this.#settle(call, false)
    if (wanted.length === 0) return
    try {
      const answers = await this.#core.store.beat(
        this.#registration.number,
        wanted.map(([call, details]) => toBeat(call, details)),
      )
      for (const [i, [call]] of wanted.entries()) this.#answered(call, answers[i]!)
    } catch (error) {
      // Sent again, unless there are newer details.
      for (const [call, details] of wanted) {
        if (!this.#waiting.has(call)) this.#waiting.set(call, details)
      }
      throw error
    }
  }

  #answered(call: ActivityCall, isWanted: boolean): void {
    if (this.#becoming.has(call) && isWanted) this.#watcher.becameTask(call as LocalCall)
    this.#settle(call, isWanted)
    if (!isWanted) this.#watcher.unwanted(call)
  }

  /** Settles whether it has become a task. */
  #settle(call: ActivityCall, isTask: boolean): void {
    const answer = this.#answers.get(call)
    this.#answers.delete(call)
    this.#becoming.delete(call)
    answer?.(isTask)
  }
}

/** Whether it cannot become a task: a step, or a transaction, which the store judges by epoch and turn. */
function staysHere({ called }: LocalCall): boolean {
  return called.step !== undefined || called.definition?.transaction !== undefined
}

/** Whether the store does not know it yet. */
function isUnknown(call: ActivityCall): call is LocalCall {
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
    // The runtime itself enforces the limit. The store sees heartbeats only once in a while, and has to
    // notice when they stop.
    silentMs: heartbeatTimeoutMs === undefined ? null : heartbeatTimeoutMs + 2 * PACE_MS,
    local: isUnknown(call)
      ? {
          epoch: call.instance.epoch,
          task: taskFor(call.instance, call.command, call.work, call.token),
        }
      : null,
  }
}
