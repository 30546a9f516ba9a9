// Everything in a runtime that runs activities: those of its own instances, and tasks of anybody's.

import { resolveBackoff } from '../../../base/time/backoff.ts'
import type { Clock } from '../../../base/time/clock.ts'
import { retry } from '../../../base/time/retry.ts'
import { CancelledError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/log.ts'
import type { Delivery } from '../../../store/inbox.ts'
import { isRetryableStoreError } from '../../../store/store-error.ts'
import type { SharedLoopHeartbeat } from '../../../store/lease.ts'
import type { Transact } from '../../../store/transactions.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { Worker } from '../../../workers/worker.ts'
import type { Client } from '../../define/client.ts'
import type { Hint } from '../../core/local-runtime.ts'
import type { Registry } from '../../define/registry.ts'
import type { Values } from '../../core/values.ts'
import { LocalActivities, LocalCall } from './local-activities.ts'
import type { ActivityCall } from './activity-call.ts'
import type { Alarms } from '../../core/alarms.ts'
import { Heartbeats } from './heartbeats.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { AttemptHost } from './run-attempt.ts'
import { Slots } from './slots.ts'
import type { StoreClock } from '../../core/store-clock.ts'
import { type TaskPolicy, TaskRunner } from './task-runner.ts'

const RETRY = resolveBackoff('transactions', { initial: 50, max: 2_000 })
// Who has been waiting for a slot for so long is left to another runtime that is idle.
const LONG_WAIT_MS = 200

/** What the workforce needs of its runtime. */
export interface ActivityPoolHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly log: Logger
  readonly values: Values
  readonly random: () => number
  readonly heartbeat: SharedLoopHeartbeat
  readonly closing: AbortSignal
  readonly registry: Registry
  client(): Client
  runtimeNumber(): number
  /** Resolves when it is certain that this runtime may start something. */
  mayStart(): Promise<void> | undefined
  onDead(runtime: number): Promise<void>
  /** So many tasks were handed out at once. */
  foundTasks(count: number): void
  hint(targets: readonly Hint[]): void
  completed(instance: LiveInstance, command: number, value: string): void
  failed(instance: LiveInstance, command: number, error: string): void
  retry(
    instance: LiveInstance,
    command: number,
    attempt: number,
    delayMs: number,
    error: string,
  ): void
  /** Makes tasks of activities that wait for a slot here. */
  leaveToOthers(instance: LiveInstance, commands: readonly number[]): void
  /** What somebody died with comes one at a time, and one is over. */
  quarantineOver(): void
  /** The instance may have nothing more to do here. */
  rest(instance: LiveInstance): void
  /** A result for an instance that somebody else has by now. */
  handOver(delivery: Delivery): void
}

/** Runs activities of owned instances, and tasks. */
export class ActivityPool {
  readonly slots: Slots
  readonly activities: LocalActivities
  readonly tasks: TaskRunner
  readonly #host: ActivityPoolHost
  readonly #beats: Heartbeats
  readonly #alarm = { ring: () => this.tasks.wake() }
  #helped: ReadonlySet<string> = new Set()
  #checking = false

  constructor(host: ActivityPoolHost, policy: TaskPolicy, most: number) {
    const { clock, log, values, random, heartbeat, store, registry, time } = host
    this.#host = host
    this.slots = new Slots({ clock, log, onFree: () => this.tasks.roomFreed() }, most)
    this.#beats = new Heartbeats({
      store,
      clock,
      log,
      runtimeNumber: () => host.runtimeNumber(),
      becameTask: (call) => this.#becameTask(call),
      unwanted: (call) => this.#unwanted(call),
    })
    const attempts: AttemptHost = {
      clock,
      log,
      values,
      random,
      heartbeat,
      client: () => host.client(),
      now: () => time.now(),
      beat: (call, details) => this.#beats.beat(call, details),
      storeKind: store.kind,
      withoutTransactions: store.withoutTransactions,
      transact: (call, code) => this.#transact(call, code),
    }
    this.activities = new LocalActivities(
      {
        ...attempts,
        mayStart: () => host.mayStart(),
        completed: (...told) => host.completed(...told),
        failed: (...told) => host.failed(...told),
        retry: (...told) => host.retry(...told),
        stored: ({ iid }) => host.hint([{ iid, owner: null }]),
        beatsOver: (call, isFollowed) => this.#beats.over(call, isFollowed),
        becomesTask: (call) => this.#beats.becomesTask(call),
        endTask: (call, end) => this.tasks.end(call, end),
        handOver: (delivery) => host.handOver(delivery),
      },
      this.slots,
    )
    this.tasks = new TaskRunner(
      {
        ...attempts,
        store,
        runtimeNumber: () => host.runtimeNumber(),
        activityNames: () => registry.activityNames,
        activity: (name) => registry.activity(name),
        mayStart: () => host.mayStart(),
        sawTime: (ms, askedMs) => time.saw(ms, askedMs),
        onDead: (runtime) => host.onDead(runtime),
        tasksIn: (ms) => this.tasksAt(time.now() + ms),
        foundTasks: (count) => host.foundTasks(count),
        becoming: () => this.#beats.becoming(),
        beatsOver: (call, isFollowed) => this.#beats.over(call, isFollowed),
        quarantineOver: () => host.quarantineOver(),
        hint: (targets) => host.hint(targets),
      },
      policy,
      this.slots,
    )
  }

  workers(): Worker[] {
    return [this.tasks.work(), this.tasks.results.work(), this.#beats.work()]
  }

  /** There are tasks to be had at this moment of store time. */
  tasksAt(at: number): void {
    if (!this.#host.closing.aborted) this.#host.alarms.set(this.#alarm, at)
  }

  /** Another runtime is idle that could run these. */
  helpedWith(activities: readonly string[]): void {
    this.#helped = new Set(activities)
    this.#lookForLongWaits()
  }

  #lookForLongWaits(): void {
    if (this.#helped.size === 0 || this.slots.idle || this.#checking) return
    const waiting = this.slots.waitingFor(LONG_WAIT_MS)
    const byCopy = new Map<LiveInstance, number[]>()
    for (const call of waiting) {
      if (!(call instanceof LocalCall) || !call.wanted || call.work.step !== undefined) continue
      const { name, tag } = call.called
      if (tag !== '' || !this.#helped.has(name)) continue
      const commands = byCopy.get(call.instance)
      if (commands === undefined) byCopy.set(call.instance, [call.command])
      else commands.push(call.command)
    }
    for (const [instance, commands] of byCopy) this.#host.leaveToOthers(instance, commands)
    // Whoever comes to wait meanwhile is looked at until nobody waits, or nobody is known to be idle.
    this.#checking = true
    this.#host.clock.after(LONG_WAIT_MS, () => {
      this.#checking = false
      this.#lookForLongWaits()
    })
  }

  #becameTask(call: LocalCall): void {
    const { instance, command, attempt } = call
    if (instance.calls.attempt(command) === call) instance.calls.end(command)
    if (!instance.isGone && !instance.run.open.has(command)) {
      // It was called off meanwhile.
      this.tasks.adopt(call)
      return this.tasks.discard(call)
    }
    instance.calls.becameTask({ command, attempts: attempt, held: true })
    this.tasks.adopt(call)
    this.#host.rest(instance)
  }

  #unwanted(call: ActivityCall): void {
    if (call instanceof LocalCall && call.task === 'none') {
      // The store says that this runtime does not own the instance.
      call.abort('another runtime has taken over')
    } else {
      const { key, attempt } = call
      this.tasks.abort([{ ...key, attempt }])
    }
  }

  async #transact(call: ActivityCall, code: Transact['code']): Promise<void> {
    const { store } = this.#host
    const by =
      call instanceof LocalCall && call.task === 'none'
        ? { epoch: call.instance.epoch, turn: call.instance.turn }
        : { attempt: call.attempt, token: call.token }
    const runtime = this.#host.runtimeNumber()
    // The store lets one in at a time. Whoever was before may have brought the result, and the owner may
    // have taken it since: then this attempt is not wanted any more, and only this process knows.
    const wantedCode: Transact['code'] = (tx) => {
      if (!call.wanted) throw new CancelledError('its result is there')
      return code(tx)
    }
    const { clock, random } = this.#host
    await retry(() => store.transact({ ...call.key, runtime, by, code: wantedCode }), {
      clock,
      random,
      backoff: RETRY,
      // It may have been committed all the same: a second try is refused if it was.
      shouldRetry: (error) => isRetryableStoreError(error) && call.wanted && !call.signal.aborted,
    })
  }
}
