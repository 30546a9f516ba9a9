// Runs activities that wait in the store for a runtime, whoever owns their instances.
//
//   U1. A task is claimed only for a slot that is free.
//   U2. What an attempt brought is told until the store has heard it, also by a runtime that was
//       declared dead meanwhile: a completed one counts if nobody else was quicker.
//   U3. An attempt that is not wanted any more is told to stop, and what it brings is dropped.

import type { Clock } from '../../../base/time/clock.ts'
import { CancelledError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/log.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { StoreError } from '../../../store/store-error.ts'
import type {
  HeldTask,
  ServedTags,
  TaskInterest,
  TaskKey,
  TaskResult,
  TaskVerdict,
} from '../../../store/tasks.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { Hint } from '../../core/local-runtime.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import { LocalCall } from './local-activities.ts'
import type { ActivityCall } from './activity-call.ts'
import { readTaskOptions } from '../../instance/activity-work.ts'
import { logAttempt } from './log-attempt.ts'
import { logSuspended } from '../schedule/log-end.ts'
import { MAX_DEATHS } from '../../../store/constants.ts'
import { PoisonError } from '../../instance/poison.ts'
import { type AttemptEnd, type AttemptHost, runAttempt } from './run-attempt.ts'
import type { Slots } from './slots.ts'
import { isInTheWay, TaskCall } from './task-call.ts'
import { TaskResults } from './task-results.ts'

const MOST_AT_ONCE = 64
// So long it waits for what is due next at the least, whatever the clocks say.
const SHORTEST_WAIT_MS = 10
const NOT_WANTED = 'its result is not wanted any more'
// A task that kills who runs it waits until its instance is resumed; this only bounds forgetting.
const POISON_PAUSE_MS = 3_600_000
const AGAIN_MS = 10_000

/** What a runtime takes on. */
export interface TaskPolicy {
  readonly served: ServedTags
  readonly maxSessions: number
  readonly sessionIdleMs: number
}

/** What the runner needs of its runtime. */
export interface TaskHost extends AttemptHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  runtimeNumber(): number
  /** Activities whose code is here. */
  activityNames(): readonly string[]
  activity(name: string): ActivityDefinition | undefined
  mayStart(): Promise<void> | undefined
  /** An answer carried the store's time; it was asked for at `askedMs` of the process's clock. */
  sawTime(ms: number, askedMs: number): void
  onDead(runtime: number): Promise<void>
  /** Wakes this after that time. */
  tasksIn(ms: number): void
  /** So many were handed out at once. */
  foundTasks(count: number): void
  /** What was in the way of others is over: instances and tasks may be had that could not before. */
  quarantineOver(): void
  /** Activities that are being made tasks, held by this runtime. */
  becoming(): readonly TaskKey[]
  /** The attempt is over: what it told is written if another one follows. */
  beatsOver(call: ActivityCall, isFollowed: boolean): Promise<void> | undefined
  /** There is mail for these instances. */
  hint(targets: readonly Hint[]): void
}

/** Runs tasks. */
export class TaskRunner {
  readonly results: TaskResults
  readonly #host: TaskHost
  readonly #policy: TaskPolicy
  readonly #slots: Slots
  readonly #wake = notify()
  readonly #settled = notify()
  readonly #held = new Map<string, HeldCall>()
  /** Begun under a number that was declared dead since. */
  readonly #lost = new Map<ActivityCall, number>()
  readonly #looked = notify()
  /** How many looks were begun, and the last one that is over. */
  #looks = 0
  #lastLook = { number: 0, isEmpty: false }
  /** Those that others may wait for, by name. */
  readonly #inTheWay = new Set<string>()
  #full = false
  #closing = false
  /** Whether the store may have handed out tasks without this process knowing. */
  #answerLost = false

  constructor(host: TaskHost, policy: TaskPolicy, slots: Slots) {
    this.#host = host
    this.#policy = policy
    this.#slots = slots
    this.results = new TaskResults({
      store: host.store,
      clock: host.clock,
      log: host.log,
      finished: (result, verdict) => this.#finished(result, verdict),
      unstorable: (runtime, result, error) => this.#unstorable(runtime, result, error),
    })
  }

  /** Something may be there to be run. */
  wake(): void {
    this.#wake.notifyOne()
  }

  /** A slot is free. */
  roomFreed(): void {
    if (this.#full) this.#wake.notifyOne()
  }

  /** Looks for tasks, and answers whether none was to be had. */
  async findsNothing(): Promise<boolean> {
    const before = this.#looks
    while (this.#lastLook.number <= before) {
      if ((this.interest?.activities.length ?? 0) === 0) return true
      this.wake()
      await this.#looked.wait()
    }
    return this.#lastLook.isEmpty
  }

  /** What this runtime can run, as far as is known so far; `null` when it runs no tasks. */
  get interest(): TaskInterest | null {
    const { served } = this.#policy
    const activities = this.#host.activityNames()
    if (this.#closing) return null
    if (!served.untagged && served.tags !== 'any' && served.tags.length === 0) return null
    return { activities, served }
  }

  /** Attempts that are under way. */
  held(): readonly (TaskKey & { readonly attempt: number })[] {
    return [...this.#held.values()].map(({ call }) => ({ ...call.key, attempt: call.attempt }))
  }

  /** Whether anything runs, or has not told its result. */
  get busy(): boolean {
    return this.#held.size > 0 || this.results.underway > 0
  }

  work(): Worker {
    const { clock, log } = this.#host
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 100, max: 5_000 }
    return worker('tasks', { wakeOn: [this.#wake], clock, log, pacing, backoff }, () =>
      this.#pass(),
    )
  }

  /** An activity of an owned instance has become a task, held by this runtime. */
  adopt(call: LocalCall): void {
    call.task = 'held'
    this.#held.set(nameOf(call.key), { call, runtime: this.#host.runtimeNumber() })
  }

  /** Nobody waits for it, and nobody is to run it again: it is removed as if it had failed. */
  discard(call: LocalCall): void {
    const { key, token, attempt } = call
    this.abort([{ ...key, attempt }])
    const payload = this.#host.values.encodeError(new CancelledError(NOT_WANTED))
    this.results.add(this.#host.runtimeNumber(), {
      ...key,
      token,
      attempt,
      end: { kind: 'failed', payload },
    })
  }

  /** These are not wanted any more; with an attempt, only if it is that one. */
  abort(keys: readonly (TaskKey & { readonly attempt?: number })[]): void {
    for (const key of keys) {
      const held = this.#held.get(nameOf(key))
      if (held === undefined || (key.attempt ?? held.call.attempt) !== held.call.attempt) continue
      this.#held.delete(nameOf(key))
      if (held.call instanceof LocalCall) held.call.task = 'gone'
      held.call.abort(NOT_WANTED)
      this.#letOthersGo(nameOf(key))
    }
    this.#settled.notifyOne()
  }

  /**
   * Another process says that nobody waits for these any more: stops those of which the store says
   * so, too, and answers how many.
   */
  async abortUnwanted(keys: readonly TaskKey[]): Promise<number> {
    const named = new Set(keys.map(nameOf))
    const asked = this.held().filter((key) => named.has(nameOf(key)))
    if (asked.length === 0) return 0
    const runtime = this.#host.runtimeNumber()
    const held = new Set((await this.#host.store.holding(runtime)).map(attemptName))
    const unwanted = asked.filter((key) => !held.has(attemptName(key)))
    this.abort(unwanted)
    return unwanted.length
  }

  /** This runtime holds nothing any more: what still runs may only tell that it completed. */
  lost(reason: string): void {
    for (const { call, runtime } of this.#held.values()) {
      if (call.begun) this.#lost.set(call, runtime)
      if (call instanceof LocalCall) call.task = 'gone'
      call.abort(reason)
    }
    this.#held.clear()
    this.#inTheWay.clear()
    this.#settled.notifyOne()
  }

  /** Nothing new is begun; what runs may finish within so long, then it is told to stop. */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    this.#looked.notifyAll()
    for (const { call, runtime } of this.#held.values()) {
      // It waits for a slot, and will get none any more.
      if (call.slots !== undefined || call.begun) continue
      this.#held.delete(nameOf(call.key))
      this.#giveBack(runtime, attemptOf(call), 0)
    }
    let late = false
    const timer = this.#host.clock.after(drainMs, () => {
      late = true
      this.#settled.notifyOne()
    })
    while (this.busy && !late) await this.#settled.wait()
    timer.cancel()
    // The store frees what is left when this runtime is gone.
    for (const { call } of this.#held.values()) call.abort('the runtime is closing')
    this.#held.clear()
  }

  /** Told of the end of an attempt. */
  end(call: ActivityCall, end: AttemptEnd): void {
    const held = this.#held.get(nameOf(call.key))
    if (held?.call !== call) return this.#endLost(call, end)
    this.#held.delete(nameOf(call.key))
    this.#settled.notifyOne()
    if (end.kind === 'stored') {
      this.#letOthersGo(nameOf(call.key))
      return this.#host.hint([{ iid: call.key.iid, owner: null }])
    }
    const aborted = call.signal.aborted && end.kind !== 'completed'
    // Told to stop, by this runtime's death or its close: that says nothing about the task.
    const told = aborted && !this.#isOut(call) ? ({ kind: 'release', delayMs: 0 } as const) : end
    if (told === end) logAttempt(this.#host, call, end)
    this.results.add(held.runtime, { ...attemptOf(call), end: told })
  }

  /** The number it was begun under is dead; whoever took the task over may be slower. */
  #endLost(call: ActivityCall, end: AttemptEnd): void {
    const runtime = this.#lost.get(call)
    this.#lost.delete(call)
    if (runtime === undefined || end.kind !== 'completed') return
    this.results.add(runtime, { ...attemptOf(call), end })
  }

  async perform(call: ActivityCall): Promise<void> {
    const wait = this.#host.mayStart()
    if (wait !== undefined) await wait
    if (!call.wanted) return
    const end = await runAttempt(call, this.#host)
    await this.#host.beatsOver(call, end.kind === 'retry')
    this.end(call, end)
  }

  /** Whether it was stopped by a limit of its own. */
  #isOut({ signal }: ActivityCall): boolean {
    return (signal.reason as { afterMs?: unknown } | undefined)?.afterMs !== undefined
  }

  async #pass(): Promise<Directive> {
    const number = ++this.#looks
    // While it is not known that there is nothing, there may be something.
    let isEmpty = false
    try {
      const { interest } = this
      const limit = Math.min(this.#slots.free, MOST_AT_ONCE)
      this.#full = limit <= 0
      if (interest === null || interest.activities.length === 0 || this.#full) return idle()
      const count = await this.#claim(interest, limit)
      isEmpty = count === 0
      return count === undefined || count === limit ? proceed() : idle()
    } finally {
      this.#lastLook = { number, isEmpty }
      this.#looked.notifyAll()
    }
  }

  /**
   * Gives back what was claimed by a call whose answer was lost: nobody would ever run it.
   *
   * Waited for: told once more after the next claim, it would take away what that has brought.
   */
  async #giveBackUnknown(runtime: number): Promise<void> {
    const { store } = this.#host
    const before = this.#knownNames()
    const held = await store.holding(runtime)
    // What ended meanwhile may not have been heard of by the store when it looked.
    const known = new Set([...before, ...this.#knownNames()])
    const unknown = held.filter((key) => !known.has(nameOf(key)))
    const releases = unknown.map((task) => releaseOf({ ...task, token: null }))
    if (releases.length > 0) await store.finishTasks(runtime, releases)
  }

  /** Tasks that the store may take for held here, and rightly so. */
  #knownNames(): readonly string[] {
    const keys = [...this.#host.becoming(), ...this.results.keys()]
    return [...this.#held.keys(), ...keys.map(nameOf)]
  }

  /** Takes on what there is; how many that were, or `undefined` when this runtime was dead. */
  async #claim(interest: TaskInterest, limit: number): Promise<number | undefined> {
    const host = this.#host
    const runtime = host.runtimeNumber()
    if (this.#answerLost) await this.#giveBackUnknown(runtime)
    this.#answerLost = true
    const { maxSessions, sessionIdleMs } = this.#policy
    const request = { ...interest, runtime, limit, maxSessions, sessionIdleMs }
    const askedMs = host.clock.now()
    const answer = await host.store.claimTasks(request)
    this.#answerLost = false
    host.sawTime(answer.clock, askedMs)
    if (answer.state === 'dead') {
      await host.onDead(runtime)
      return undefined
    }
    host.foundTasks(answer.tasks.length)
    for (const task of answer.tasks) this.#begin(runtime, task)
    // Not at that time of the store, whose clock may have been set back: see Claimer.
    if (answer.nextDue !== null)
      host.tasksIn(Math.max(answer.nextDue - answer.clock, SHORTEST_WAIT_MS))
    return answer.tasks.length
  }

  #begin(runtime: number, task: HeldTask): void {
    const definition = this.#host.activity(task.activity)
    const options = readTaskOptions(task.options)
    if (isInTheWay(task, options)) this.#inTheWay.add(nameOf(task))
    if (this.#closing || definition === undefined) return this.#giveBack(runtime, task, 0)
    if (task.deaths >= MAX_DEATHS) return void this.#suspend(runtime, task)
    const call = new TaskCall(this.#host, task, options, definition, (one) => this.#isHeld(one))
    this.#held.set(nameOf(task), { call, runtime })
    this.#slots.run(call, this)
  }

  #isHeld(call: ActivityCall): boolean {
    return this.#held.get(nameOf(call.key))?.call === call
  }

  #giveBack(runtime: number, task: HeldKey, delayMs: number): void {
    this.results.add(runtime, releaseOf(task, delayMs))
  }

  /** Who runs it dies of it: its instance is set aside, and the task waits until that is resumed. */
  async #suspend(runtime: number, task: HeldTask): Promise<void> {
    const { log, store, values } = this.#host
    const error = new PoisonError(task.deaths, `activity "${task.activity}" as a task`)
    try {
      const [isSuspended] = await store.suspend([task.id], values.encodeError(error))
      if (isSuspended === true) logSuspended(log, keysOf(task), error)
      this.#giveBack(runtime, task, POISON_PAUSE_MS)
      this.#host.hint([{ iid: task.iid, owner: null }])
    } catch (err) {
      log.warn({ ...keysOf(task), err }, 'the instance of a task could not be suspended; retrying')
      this.#giveBack(runtime, task, AGAIN_MS)
    }
  }

  /** The activity did what it does, but nobody can be told of it: it has failed. */
  #unstorable(runtime: number, result: TaskResult, error: StoreError): void {
    const { log, values } = this.#host
    const { iid, execution, command, end } = result
    log.error({ iid, execution, command, err: error }, 'the result of a task could not be stored')
    if (end.kind !== 'completed') return
    const reason = new Error(`its result could not be stored: ${error.message}`, { cause: error })
    const payload = values.encodeError(reason)
    this.results.add(runtime, { ...result, end: { kind: 'failed', payload } })
  }

  /** Another one may have waited for its session or its limit, or because runtimes died with both. */
  #letOthersGo(name: string): void {
    if (this.#inTheWay.delete(name)) this.#host.quarantineOver()
  }

  #finished(result: TaskResult, { owner }: TaskVerdict): void {
    const { iid, end } = result
    this.#settled.notifyOne()
    this.#letOthersGo(nameOf(result))
    // When it can be had again is asked for.
    if (end.kind === 'retry' || end.kind === 'release') this.wake()
    // Gone, it may have been sent before, and only the answer was lost.
    if (end.kind === 'completed' || end.kind === 'failed') this.#host.hint([{ iid, owner }])
  }
}

interface HeldCall {
  readonly call: ActivityCall
  /** Under which number it was claimed. */
  readonly runtime: number
}

/** A task, and which attempt at it. */
type HeldKey = Omit<TaskResult, 'end'>

function attemptOf({ key, token, attempt }: ActivityCall): HeldKey {
  return { ...key, token, attempt }
}

function releaseOf(task: HeldKey, delayMs = 0): TaskResult {
  const { iid, execution, command, token, attempt } = task
  return { iid, execution, command, token, attempt, end: { kind: 'release', delayMs } }
}

function keysOf({ id, workflow, execution, activity, attempt }: HeldTask): object {
  return { instanceId: id, workflow, execution, activity, attempt }
}

function nameOf({ iid, execution, command }: TaskKey): string {
  return `${iid} ${execution} ${command}`
}

function attemptName(key: TaskKey & { readonly attempt: number }): string {
  return `${nameOf(key)} ${key.attempt}`
}
