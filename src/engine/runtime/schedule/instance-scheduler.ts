// Leads copies through their lives: turn, commit, carry out, rest.
//
//   T1. Nothing that a turn decided is carried out before its commit was answered `done`: no
//       activity starts, no timer is set, no log line is written, no waiter is told.
//   T2. A copy whose item was refused is thrown away, whatever it has become since.
//   T3. A copy has at most one item at the committer.

import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type { Claim, Loaded } from '../../../store/claims.ts'
import type { Next, TurnRow, Verdict } from '../../../store/commits.ts'
import type { Ending, Iid } from '../../../store/instances.ts'
import type { SharedLoopHeartbeat } from '../../../store/lease.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { ContextHost } from '../../context/make-context.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import { Execution } from '../../replay/execution.ts'
import { type LocalActivities, LocalCall } from '../activities/local-activities.ts'
import { type ActivityWork, startByOf } from '../../instance/activity-work.ts'
import type { Alarms } from '../../core/alarms.ts'
import { codeCaller } from './call-code.ts'
import { CommandRunner } from './command-runner.ts'
import type { Committer } from './committer.ts'
import { type ContinueHost, nextLiveInstance } from './next-execution.ts'
import type { LiveInstances } from './live-instances.ts'
import {
  type Arrival,
  childrenLeft,
  type LiveInstance,
  tasksOf,
  type TurnOutput,
} from '../../instance/live-instance.ts'
import { Eviction, type EvictionHost } from './eviction.ts'
import { Endings } from '../../core/endings.ts'
import { ForgottenCalls } from './forgotten-calls.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import { logEnd, logSuspended } from './log-end.ts'
import { hasNews } from '../../instance/next-after-turn.ts'
import type { RemoteCommands } from './remote-commands.ts'
import { MAX_DEATHS, QUARANTINE_DEATHS } from '../../../store/constants.ts'
import { PoisonError } from '../../instance/poison.ts'
import { readInstance, takeInbox } from '../../instance/read-instance.ts'
import { Release } from './release.ts'
import { CommitWriter, type CommitWriterHost } from './commit-writer.ts'
import { type SuspendHost, suspend } from './suspend.ts'
import type { Slots } from '../activities/slots.ts'
import type { NewInstance } from '../../core/start-item.ts'
import type { StoreClock } from '../../core/store-clock.ts'
import { type OthersHost, notifyOthers } from './notify-others.ts'
import { TurnLoop } from './turn-loop.ts'
import { Turns } from './turns.ts'
import { awaitsMail, awaitsUnread, hasArrivals } from '../../instance/unread-messages.ts'

/** What the conductor works with. */
export interface SchedulerSetup extends ContinueHost, OthersHost, EvictionHost {
  readonly clock: Clock
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly heartbeat: SharedLoopHeartbeat
  readonly log: Logger
  readonly committer: Committer
  readonly instances: LiveInstances
  readonly context: ContextHost
  readonly store: Pick<WorkflowStore, 'history' | 'whereabouts'>
  /** Whether a forgotten `await` fails the workflow. */
  readonly failsForgotten: boolean
  /** Runs what turns asked for. */
  activities(): LocalActivities
  /** Where activities wait for their turn. */
  slots(): Slots
  /** Carries out what turns asked of other instances. */
  remoteCommands(): RemoteCommands
  /** Whether there is little room for further instances. */
  crowded(): boolean
  /** Something is due at this moment of store time and nobody owns it. */
  claimAt(at: number): void
  /** Notes what is about to be done with an instance that owners died with; whether it may be. */
  aboutTo(instance: LiveInstance, doing: string): Promise<boolean>
}

/** Leads the copies of one runtime. */
export class InstanceScheduler {
  readonly instances: LiveInstances
  readonly endings = new Endings()
  readonly eviction: Eviction
  readonly turnLoop: TurnLoop
  readonly resting: Release
  readonly #setup: SchedulerSetup
  readonly #commands: CommandRunner
  readonly #writer: CommitWriter
  readonly #aside: SuspendHost
  readonly #forgotten: ForgottenCalls
  #closing = false

  constructor(setup: SchedulerSetup) {
    const { clock, time, log, values, committer } = setup
    const call = codeCaller(setup.context)
    const closing = (): boolean => this.#closing
    const recorded: CommitWriterHost['recorded'] = (...told) => this.#recorded(...told)
    this.#setup = setup
    this.instances = setup.instances
    const commands = new CommandRunner({
      ...setup,
      serves: (tag) => setup.context.serves(tag),
      closing,
      arrive: (instance, arrivals) => this.arrive(instance, arrivals),
      turn: (instance) => this.turnLoop.enqueue(instance),
      leaveToOthers: (instance, left) => this.leaveToOthers(instance, left),
      rest: (instance) => this.resting.releaseIfAtRest(instance),
    })
    const writer = new CommitWriter({
      committer,
      workflowNumber: (definition) => setup.workflowNumber(definition),
      silence: (instance) => commands.silence(instance),
      recorded,
    })
    const resting = new Release({ time, crowded: () => setup.crowded(), closing }, commands, writer)
    const turns = new Turns({
      ...setup,
      call,
      writer,
      resting,
      recorded,
      suspend: (instance, error) => this.#suspend(instance, error),
    })
    this.#commands = commands
    this.#writer = writer
    this.resting = resting
    this.eviction = new Eviction(setup, this.instances, this.endings, commands)
    this.turnLoop = new TurnLoop({
      clock,
      log,
      turn: (instance) => turns.take(instance),
      turnsTaken: () => committer.flush(),
    })
    const execution = (instance: LiveInstance): Execution =>
      this.execution(instance.definition, instance.id)
    this.#forgotten = new ForgottenCalls({ ...setup, call, execution })
    this.#aside = {
      values,
      writer,
      call,
      execution,
      silence: (instance) => commands.silence(instance),
      drop: (instance, reason) => this.eviction.drop(instance, reason),
      flush: () => committer.flush(),
    }
  }

  /** Activities that were called and whose code is not here. */
  get unknownActivities(): readonly string[] {
    return this.#commands.unknownActivities
  }

  /** An execution for an instance. */
  execution(definition: WorkflowDefinition, id: string): Execution {
    const label = `instance "${id}" of workflow "${definition.name}" ${definition.version}`
    const execution = new Execution(label, this.#setup.values)
    if (this.#setup.failsForgotten) {
      execution.failsForgotten = true
      execution.trace()
    }
    return execution
  }

  /** Takes a new instance through its first turn. Its row is recorded with that turn. */
  begin(instance: LiveInstance, start: NewInstance): void {
    this.#add(instance)
    this.#writer.begins(instance, start)
    this.turnLoop.enqueue(instance)
  }

  /** Goes on with an instance that was just claimed; `kept` when its copy is still good. */
  resume(
    claim: Claim,
    loaded: Loaded,
    definition: WorkflowDefinition,
    kept: LiveInstance | undefined,
  ): void {
    const stale = this.instances.get(claim.iid)
    if (stale !== undefined) this.eviction.drop(stale, 'it was claimed again')
    const instance = kept ?? this.#read(loaded, definition, claim.epoch)
    if (instance === undefined) return
    instance.epoch = claim.epoch
    instance.state = 'resting'
    instance.reopened = true
    instance.tasks = tasksOf(loaded)
    instance.quarantined = claim.attempts >= QUARANTINE_DEATHS
    this.#add(instance)
    if (claim.attempts >= MAX_DEATHS) {
      return void this.#suspend(instance, new PoisonError(claim.attempts, claim.doing))
    }
    this.turnLoop.enqueue(instance)
    this.#receive(instance, loaded)
  }

  #add(instance: LiveInstance): void {
    this.instances.add(instance)
    instance.run.onBreak = () => {
      // Its next turn finds it broken, and sets it aside. One that was released has none now.
      if (instance.state === 'released') {
        this.#setup.log.error(
          { ...instanceKeys(instance), err: instance.run.broken },
          'instance will be suspended when it wakes',
        )
      }
      this.turnLoop.enqueue(instance)
    }
  }

  /** What waits in its inbox arrives; an instance whose inbox cannot be read is set aside. */
  #receive(instance: LiveInstance, { inbox, tasks }: Pick<Loaded, 'inbox' | 'tasks'>): void {
    try {
      instance.mailDue = false
      takeInbox(instance, inbox, tasks)
      if (hasNews(instance)) this.turnLoop.enqueue(instance)
    } catch (error) {
      void this.#suspend(instance, error)
    }
  }

  /** Something arrived for an instance that is owned. */
  deliver(instance: LiveInstance, loaded: Loaded): void {
    if (instance.state !== 'gone') {
      // Commands begin anew with each execution: tasks of the last one are none of this.
      const tasks = loaded.execution === instance.execution ? loaded.tasks : []
      this.#receive(instance, { inbox: loaded.inbox, tasks })
      this.#seeTasks(instance, tasks)
    }
    if (instance.state === 'released' && hasNews(instance)) this.#setup.look([instance.iid])
  }

  /** What nobody has begun in time fails. The store does not hand it out any more by then. */
  #seeTasks(instance: LiveInstance, tasks: Loaded['tasks']): void {
    const now = this.#setup.time.now()
    for (const task of tasks) {
      const given = instance.run.open.get(task.command)
      if (given === undefined || !instance.tasks?.has(task.command)) continue
      instance.tasks.set(task.command, task)
      const work = given.work as ActivityWork
      if (task.held || task.attempts > 0 || startByOf(work) > now) continue
      this.#commands.notStarted(instance, task.command, work)
    }
  }

  /** Whether no copy runs, waits for a turn, or is being committed. */
  isQuiet(): boolean {
    for (const instance of this.instances) {
      if (instance.state !== 'resting' || instance.running.size > 0) return false
      if (hasNews(instance) || awaitsMail(instance)) return false
    }
    return true
  }

  /** Activities of a copy that do not run here, or wait for a slot, are left to other runtimes. */
  leaveToOthers(instance: LiveInstance, commands: readonly number[]): void {
    if (instance.state === 'gone' || instance.state === 'released') return
    for (const command of commands) {
      instance.running.delete(command)
      ;(instance.newTasks ??= new Set()).add(command)
    }
    if (instance.state !== 'resting') return
    this.#writer.tasks(instance)
  }

  /** Puts arrivals before a copy and lets it have a turn. */
  arrive(instance: LiveInstance, arrivals: readonly Arrival[]): void {
    if (instance.state === 'gone' || arrivals.length === 0) return
    for (const arrival of arrivals) instance.arrivals.push(arrival)
    // What is put off is taken up when the messages before it are read.
    if (hasArrivals(instance)) this.turnLoop.enqueue(instance)
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(
    instance: LiveInstance,
    command: number,
    attempt: number,
    delayMs: number,
    error: string,
  ): void {
    this.#commands.retryAfter(instance, command, attempt, delayMs, error)
  }

  /** Something that it asked of others is not done here any more: that keeps it no longer. */
  gaveUp(instance: LiveInstance): void {
    this.resting.releaseIfAtRest(instance)
    this.#setup.committer.flush()
  }

  /** Nothing new begins; instances are released as soon as nothing of them runs here. */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    for (const call of this.#setup.slots().close()) {
      if (call instanceof LocalCall && call.wanted) call.instance.running.delete(call.command)
    }
    for (const instance of this.instances) this.resting.releaseIfAtRest(instance)
    this.#setup.committer.flush()
    await this.eviction.untilAllLeft(this.#setup.clock, drainMs)
    for (const instance of this.instances) this.eviction.drop(instance, 'the runtime is closing')
    this.instances.forgetReleased()
  }

  #recorded(
    instance: LiveInstance,
    turn: TurnRow | null,
    next: Next,
    result: TurnOutput,
    verdict: Verdict | Error,
  ): void {
    if (verdict === 'refused') this.eviction.handOver(instance, result)
    if (instance.state === 'gone') return
    if (verdict instanceof Error) return this.#notStored(instance, next, verdict)
    if (verdict !== 'done') return this.eviction.drop(instance, 'another runtime has taken over')
    const isNew = instance.turn === 0
    instance.state = 'resting'
    if (turn !== null) {
      instance.turn = turn.turn
      instance.turnAt = turn.at
      instance.seq = turn.first + turn.count - 1
      this.eviction.leaveQuarantine(instance)
      this.instances.grow(instance, turn.events.length)
      if (instance.alarms.size > 0) this.#commands.forgetLimits(instance)
    }
    instance.known.deleted(result.taken)
    for (const line of instance.lines) line()
    instance.lines = []
    notifyOthers(this.#setup, this.#commands, instance, result)
    switch (next.kind) {
      case 'end':
        return this.#ended(instance, next.end)
      case 'continue':
        this.#continued(instance, next.started, next.keep)
        return this.#setup.changed(instance.iid)
      case 'hold':
        logSuspended(this.#setup.log, instanceKeys(instance), this.#setup.values.error(next.report))
        // Or what came to an end here would be done again when it is resumed.
        this.eviction.keepResults(instance)
        this.eviction.drop(instance, 'it was set aside')
        return this.#setup.changed(instance.iid)
      case 'release':
        return this.#released(instance, next.wakeAt)
      case 'keep':
        if (isNew) instance.mailDue = this.#mayHaveMail(instance)
        for (const given of result.given) this.#commands.carryOut(instance, given)
        this.#commands.watchCleanUp(instance)
        if ((isNew && instance.mailDue) || awaitsUnread(instance)) this.#setup.look([instance.iid])
        if (this.#writer.tasks(instance)) return
        if (hasNews(instance)) this.turnLoop.enqueue(instance)
        else this.resting.releaseIfAtRest(instance)
    }
  }

  /** Whether something was sent along with the start, or may have come meanwhile. */
  #mayHaveMail(instance: LiveInstance): boolean {
    return instance.hasMail || instance.parent !== null || this.#writer.wasSentMail(instance)
  }

  /** Goes on with the next execution of an instance. */
  #continued(instance: LiveInstance, started: TurnRow, keep: boolean): void {
    this.#forgotten.report(instance)
    this.eviction.leave(instance, 'its next execution has begun')
    if (!keep) {
      this.endings.tell(instance.iid, undefined)
      // Claimed by whoever has its version.
      return this.#setup.look([instance.iid])
    }
    const next = nextLiveInstance(instance, started, this.#setup, (...given) =>
      this.execution(...given),
    )
    this.#add(next)
    this.turnLoop.enqueue(next)
    // What was read for the last execution may have been meant for this one.
    this.#setup.look([instance.iid])
  }

  /** A child was started, or found to run; what it has to say comes by mail. */
  startedChild(instance: LiveInstance, command: number, child: Iid): void {
    instance.running.delete(command)
    instance.children.set(command, child)
    if (instance.state === 'gone') return
    // The code has ended: all that was left to do was to start it.
    if (childrenLeft(instance).length > 0) return this.turnLoop.enqueue(instance)
    // After a takeover the result may have come while nobody looked.
    this.#setup.look([instance.iid])
    this.resting.releaseIfAtRest(instance)
  }

  #released(instance: LiveInstance, wakeAt: number | null): void {
    this.eviction.release(instance)
    if (this.#closing) return
    // What came while it was being released is found by whoever claims it.
    if (hasNews(instance)) this.#setup.look([instance.iid])
    if (wakeAt !== null) this.#setup.claimAt(wakeAt)
  }

  #ended(instance: LiveInstance, end: Ending): void {
    logEnd(this.#setup.log, this.#setup.values, instance, end)
    this.#forgotten.report(instance)
    this.eviction.leave(instance, 'the workflow has ended')
    this.endings.tell(instance.iid, end)
    this.#setup.ended(instance.iid)
    if (instance.parent !== null && instance.parent.onClose !== 'independent') {
      this.#setup.look([instance.parent.iid])
    }
  }

  /** The store cannot take this item, and it is this one's fault alone. */
  #notStored(instance: LiveInstance, next: Next, error: Error): void {
    if (instance.turn === 0) return this.eviction.drop(instance, 'its start could not be stored')
    // The tick finds it owned and unknown, and it is read again.
    if (next.kind === 'hold') {
      const keys = { ...instanceKeys(instance), err: error }
      this.#setup.log.warn(keys, 'instance could not be suspended; retrying')
      return this.eviction.drop(instance, 'it could not be suspended')
    }
    void this.#suspend(instance, error)
  }

  #suspend(instance: LiveInstance, error: unknown): Promise<void> {
    return suspend(this.#aside, instance, error)
  }

  #read(loaded: Loaded, definition: WorkflowDefinition, epoch: number): LiveInstance | undefined {
    const run = this.execution(definition, loaded.id)
    const read = readInstance(loaded, definition, run)
    if (read.error === undefined) return read.instance
    read.instance.epoch = epoch
    this.instances.add(read.instance)
    void this.#suspend(read.instance, read.error)
    return undefined
  }
}
