import { type Notify, notify } from '../../../base/sync/notify.ts'
import type { TaskAttempt, TaskKey } from '../../../store/tasks.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Claimer } from '../discover/claimer.ts'
import type { Registration } from '../discover/registration.ts'
import type { ActivityCall } from './activity-call.ts'
import { LocalCall } from './local-call.ts'
import { attemptName, taskName } from './task-names.ts'

export const NOT_WANTED = 'its result is no longer needed'

/** An attempt, and the number of the runtime under which its task was claimed. */
interface OwnedCall {
  readonly call: ActivityCall
  readonly runtime: number
}

/** The tasks that this runtime owns: from the claim until the attempt has ended or is superseded. */
export class OwnedTasks {
  /** Notified when this runtime no longer owns a task, for any reason. */
  readonly settled: Notify = notify()
  /** Wakes the task claimer: other tasks may have become claimable. */
  readonly freed: Notify = notify()
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #claimer: Claimer
  readonly #owned = new Map<string, OwnedCall>()
  /** Attempts that still run, begun under a number that was declared dead. */
  readonly #superseded = new Map<ActivityCall, number>()
  /** Names of tasks whose end other tasks or instances may wait for. */
  readonly #blocking = new Set<string>()

  constructor(core: RuntimeCore, registration: Registration, claimer: Claimer) {
    this.#core = core
    this.#registration = registration
    this.#claimer = claimer
  }

  get size(): number {
    return this.#owned.size
  }

  /** The attempts that run, or wait for a slot. */
  keys(): readonly TaskAttempt[] {
    return [...this.#owned.values()].map(({ call }) => ({ ...call.key, attempt: call.attempt }))
  }

  names(): Iterable<string> {
    return this.#owned.keys()
  }

  has(call: ActivityCall): boolean {
    return this.#owned.get(taskName(call.key))?.call === call
  }

  /** A task that was claimed under this number. */
  add(runtime: number, call: ActivityCall): void {
    if (call instanceof LocalCall) call.task = 'owned'
    this.#owned.set(taskName(call.key), { call, runtime })
  }

  /** Its attempt has ended. Returns the number under which it was claimed, unless it was superseded. */
  take(call: ActivityCall): number | undefined {
    if (!this.has(call)) return undefined
    const name = taskName(call.key)
    const { runtime } = this.#owned.get(name)!
    this.#owned.delete(name)
    this.settled.notifyOne()
    return runtime
  }

  /** The same for an attempt that continued after its runtime was declared dead. */
  takeSuperseded(call: ActivityCall): number | undefined {
    const runtime = this.#superseded.get(call)
    this.#superseded.delete(call)
    return runtime
  }

  /** Takes the attempts that wait for a slot: they will get none. */
  takeWaiting(): readonly OwnedCall[] {
    const waiting = [...this.#owned.values()].filter(
      ({ call }) => call.slots === undefined && !call.begun,
    )
    for (const { call } of waiting) this.#owned.delete(taskName(call.key))
    return waiting
  }

  /** Aborts these, whose results are no longer wanted; with an attempt, only if it is that one. */
  abort(keys: readonly (TaskKey & { readonly attempt?: number })[]): void {
    for (const key of keys) {
      const name = taskName(key)
      const call = this.#owned.get(name)?.call
      if (call === undefined || (key.attempt ?? call.attempt) !== call.attempt) continue
      this.#owned.delete(name)
      if (call instanceof LocalCall) call.task = 'gone'
      call.abort(NOT_WANTED)
      this.unblock(name)
    }
    this.settled.notifyOne()
  }

  /**
   * Another process says that these are no longer wanted. Aborts those that the store confirms, and
   * returns how many.
   */
  async abortUnwanted(keys: readonly TaskKey[]): Promise<number> {
    const named = new Set(keys.map(taskName))
    const asked = this.keys().filter((key) => named.has(taskName(key)))
    if (asked.length === 0) return 0
    const stored = await this.#core.store.ownedTasks(this.#registration.number)
    const wanted = new Set(stored.map(attemptName))
    const unwanted = asked.filter((key) => !wanted.has(attemptName(key)))
    this.abort(unwanted)
    return unwanted.length
  }

  /** Other runtimes own them now. An attempt that still runs may only report that it completed. */
  supersede(reason: string): void {
    for (const { call, runtime } of this.#owned.values()) {
      if (call.begun) this.#superseded.set(call, runtime)
      if (call instanceof LocalCall) call.task = 'gone'
      call.abort(reason)
    }
    this.#owned.clear()
    this.#blocking.clear()
    this.settled.notifyOne()
  }

  /** The runtime is closed. The store frees the remaining tasks. */
  close(): void {
    for (const { call } of this.#owned.values()) call.abort('the runtime is closing')
    this.#owned.clear()
  }

  /** Other tasks or instances may wait for the end of this one. */
  block(name: string): void {
    this.#blocking.add(name)
  }

  /** It has ended. Tasks that waited for its session, its limit or its quarantine may be claimed. */
  unblock(name: string): void {
    if (!this.#blocking.delete(name)) return
    this.#claimer.wake()
    this.freed.notifyOne()
  }
}
