// Everything in a runtime that runs activities: those of its own instances, and tasks of anybody's.

import { backoffMs, resolveBackoff } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { CancelledError } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Delivery } from '../../store/inbox.ts'
import { StoreError } from '../../store/store-error.ts'
import type { SharedPulse } from '../../store/lease.ts'
import type { Transact } from '../../store/transactions.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { Worker } from '../../workers/worker.ts'
import type { Client } from '../client/client.ts'
import type { Hint } from '../client/client-setup.ts'
import type { Registry } from '../registry.ts'
import type { Values } from '../values.ts'
import { Activities, LocalCall } from './activities.ts'
import type { ActivityCall } from './activity-call.ts'
import type { Alarms } from './alarms.ts'
import { Beats } from './beats.ts'
import type { Copy } from './copy.ts'
import type { AttemptHost } from './run-attempt.ts'
import { Slots } from './slots.ts'
import type { StoreClock } from './store-clock.ts'
import { type TaskPolicy, TaskRunner } from './task-runner.ts'

const RETRY = resolveBackoff('transactions', { initial: 50, max: 2_000 })
// Who has been waiting for a slot for so long is left to another runtime that is idle.
const LONG_WAIT_MS = 200

/** What the workforce needs of its runtime. */
export interface WorkforceHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly log: Logger
  readonly values: Values
  readonly random: () => number
  readonly pulse: SharedPulse
  readonly registry: Registry
  client(): Client
  runtimeNumber(): number
  /** Resolves when it is certain that this runtime may start something. */
  mayStart(): Promise<void> | undefined
  onDead(runtime: number): Promise<void>
  /** So many tasks were handed out at once. */
  foundTasks(count: number): void
  hint(targets: readonly Hint[]): void
  completed(copy: Copy, command: number, value: string): void
  failed(copy: Copy, command: number, error: string): void
  retry(copy: Copy, command: number, attempt: number, delayMs: number, error: string): void
  /** Makes tasks of activities that wait for a slot here. */
  leaveToOthers(copy: Copy, commands: readonly number[]): void
  /** What somebody died with comes one at a time, and one is over. */
  carefulOver(): void
  /** The instance may have nothing more to do here. */
  rest(copy: Copy): void
  /** A result for an instance that somebody else has by now. */
  handOver(delivery: Delivery): void
}

/** Runs activities of owned instances, and tasks. */
export class Workforce {
  readonly slots: Slots
  readonly activities: Activities
  readonly tasks: TaskRunner
  readonly #host: WorkforceHost
  readonly #beats: Beats
  readonly #alarm = { ring: () => this.tasks.wake() }
  #helped: ReadonlySet<string> = new Set()
  #checking = false

  constructor(host: WorkforceHost, policy: TaskPolicy, most: number) {
    const { clock, log, values, random, pulse, store, registry, time } = host
    this.#host = host
    this.slots = new Slots({ clock, log, onFree: () => this.tasks.roomFreed() }, most)
    this.#beats = new Beats({
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
      pulse,
      client: () => host.client(),
      now: () => time.now(),
      beat: (call, details) => this.#beats.beat(call, details),
      storeKind: store.kind,
      withoutTransactions: store.withoutTransactions,
      transact: (call, code) => this.#transact(call, code),
    }
    this.activities = new Activities(
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
        carefulOver: () => host.carefulOver(),
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
    this.#host.alarms.set(this.#alarm, at)
  }

  /** Another runtime is idle that could run these. */
  helpedWith(activities: readonly string[]): void {
    this.#helped = new Set(activities)
    this.#lookForLongWaits()
  }

  #lookForLongWaits(): void {
    if (this.#helped.size === 0 || this.slots.idle || this.#checking) return
    const waiting = this.slots.waitingFor(LONG_WAIT_MS)
    const byCopy = new Map<Copy, number[]>()
    for (const call of waiting) {
      if (!(call instanceof LocalCall) || !call.wanted || call.work.step !== undefined) continue
      const { name, tag } = call.called
      if (tag !== '' || !this.#helped.has(name)) continue
      const commands = byCopy.get(call.copy)
      if (commands === undefined) byCopy.set(call.copy, [call.command])
      else commands.push(call.command)
    }
    for (const [copy, commands] of byCopy) this.#host.leaveToOthers(copy, commands)
    // Whoever comes to wait meanwhile is looked at until nobody waits, or nobody is known to be idle.
    this.#checking = true
    this.#host.clock.after(LONG_WAIT_MS, () => {
      this.#checking = false
      this.#lookForLongWaits()
    })
  }

  #becameTask(call: LocalCall): void {
    const { copy, command, attempt } = call
    if (copy.running.get(command) === call) copy.running.delete(command)
    if (copy.state !== 'gone' && !copy.run.open.has(command)) {
      // It was called off meanwhile.
      this.tasks.adopt(call)
      return this.tasks.discard(call)
    }
    ;(copy.tasks ??= new Map()).set(command, { command, attempts: attempt, held: true })
    this.tasks.adopt(call)
    this.#host.rest(copy)
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
        ? { epoch: call.copy.epoch, turn: call.copy.turn }
        : { attempt: call.attempt, token: call.token }
    const runtime = this.#host.runtimeNumber()
    // The store lets one in at a time. Whoever was before may have brought the result, and the owner may
    // have taken it since: then this attempt is not wanted any more, and only this process knows.
    const wantedCode: Transact['code'] = (tx) => {
      if (!call.wanted) throw new CancelledError('its result is there')
      return code(tx)
    }
    for (let failures = 1; ; failures++) {
      try {
        await store.transact({ ...call.key, runtime, by, code: wantedCode })
        return
      } catch (error) {
        // It may have been committed all the same: a second try is refused if it was.
        const mayHelp = error instanceof StoreError && error.retryable
        if (!mayHelp || !call.wanted || call.signal.aborted) throw error
        await sleep(this.#host.clock, backoffMs(RETRY, failures, this.#host.random))
      }
    }
  }
}
