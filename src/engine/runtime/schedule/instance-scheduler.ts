// Takes the instances of one runtime through their life cycle: turn, commit, carry out, wait, release.
//
// The path of a turn: something arrives, the instance takes a turn (TurnLoop), the decision is committed
// (CommitWriter, Committer), and what it asks for is carried out (AfterCommit, CommandRunner). Results
// come back as arrivals.

import type { Claim, Loaded } from '../../../store/claims.ts'
import { MAX_DEATHS, QUARANTINE_DEATHS } from '../../../store/constants.ts'
import type { Next, TurnRow } from '../../../store/commits.ts'
import type { Iid } from '../../../store/instances.ts'
import type { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import { Endings } from '../../core/endings.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import type { ContextHost } from '../../context/make-context.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import { type ActivityWork, startByOf } from '../../instance/activity-work.ts'
import type { Arrival } from '../../instance/arrival.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { expectsMail, nextAfterTurn } from '../../instance/next-after-turn.ts'
import { PoisonError } from '../../instance/poison.ts'
import { readInstance } from '../../instance/read-instance.ts'
import { Execution, type IssuedCommand } from '../../replay/execution.ts'
import type { Capacity } from './capacity.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import { AfterCommit, type NextSteps } from './after-commit.ts'
import { codeCaller } from './call-code.ts'
import { type CommandListener, CommandRunner } from './command-runner.ts'
import { CommitWriter } from './commit-writer.ts'
import type { Committer, RuntimeIdentity } from './committer.ts'
import { Eviction } from './eviction.ts'
import { HistoryLimit } from './history-limit.ts'
import { ForgottenCalls } from './forgotten-calls.ts'
import type { LiveInstances } from './live-instances.ts'
import { continueInstance } from './next-execution.ts'
import { Quarantine } from './quarantine.ts'
import type { RemoteCommands } from './remote-commands.ts'
import type { ActivityServices, Finder } from './ports.ts'
import { ReplayCheck } from './replay-check.ts'
import { Suspension } from './suspension.ts'
import { TurnLoop, type TurnPolicy } from './turn-loop.ts'

// The timer of an instance that belongs to no command.
const REST = -1

/** The services it works with. */
export interface SchedulerServices {
  readonly registration: RuntimeIdentity
  readonly committer: Committer
  readonly numbers: WorkflowNumbers
  readonly instances: LiveInstances
  readonly capacity: Capacity
  readonly finder: Finder
}

/** How instances are scheduled. */
export interface SchedulerOptions {
  /** What workflow code reaches through its context. */
  readonly context: ContextHost
  readonly heartbeat: SharedLoopHeartbeat
  /** Whether a forgotten `await` fails the workflow. */
  readonly failsForgotten: boolean
  /** How long an instance that waits for mail stays owned. */
  readonly restMs: number
  /** Whether each committed turn is replayed from its history. */
  readonly replaysTurns: boolean
  /** Learns what a turn of an instance issued, before it is committed. */
  readonly onTurn: ((iid: Iid, issued: readonly IssuedCommand[]) => void) | undefined
}

/** Schedules the instances of one runtime. */
export class InstanceScheduler implements CommandListener, NextSteps, TurnPolicy {
  readonly instances: LiveInstances
  readonly endings = new Endings()
  readonly eviction: Eviction
  readonly commands: CommandRunner
  readonly turns: TurnLoop
  readonly afterCommit: AfterCommit
  readonly #core: RuntimeCore
  readonly #options: SchedulerOptions
  readonly #committer: Committer
  readonly #writer: CommitWriter
  readonly #suspension: Suspension
  readonly #finder: Finder
  readonly #capacity: Capacity
  #activities!: ActivityServices['activities']

  constructor(core: RuntimeCore, services: SchedulerServices, options: SchedulerOptions) {
    const { registration, committer, numbers, instances, capacity, finder } = services
    const { endings } = this
    const { context, heartbeat } = options
    const begin = codeCaller(context)
    const makeExecution = (instance: LiveInstance): Execution =>
      this.execution(instance.definition, instance.id)
    const eviction = new Eviction(core, instances, endings, finder)
    const quarantine = new Quarantine(core, registration, eviction, finder)
    const commands = new CommandRunner(core, quarantine, this, finder, context)
    const writer = new CommitWriter(core, committer, numbers)
    const suspension = new Suspension(core, { begin, committer, writer, makeExecution })
    const forgotten = new ForgottenCalls(core, begin, makeExecution)
    const replayCheck = options.replaysTurns
      ? new ReplayCheck(core, begin, makeExecution)
      : undefined
    const turns = new TurnLoop(
      core,
      {
        begin,
        heartbeat,
        committer,
        writer,
        numbers,
        quarantine,
        suspension,
        replayCheck,
        onTurn: options.onTurn,
        history: new HistoryLimit(context.guard),
      },
      this,
    )
    this.afterCommit = new AfterCommit(
      core,
      { instances, endings, writer, commands, eviction, suspension, forgotten, finder, turns },
      this,
    )
    writer.reportTo(this.afterCommit)
    this.turns = turns
    this.eviction = eviction
    this.commands = commands
    this.#core = core
    this.#options = options
    this.#committer = committer
    this.instances = instances
    this.#finder = finder
    this.#capacity = capacity
    this.#writer = writer
    this.#suspension = suspension
  }

  /** Connects services that are built later and carry out what instances ask for. */
  connect(pool: ActivityServices, remote: RemoteCommands): void {
    this.#activities = pool.activities
    this.commands.connect(pool, remote, this.turns)
    this.eviction.connect(pool)
    this.afterCommit.connect(pool)
  }

  /** A new execution of a workflow. */
  execution(definition: WorkflowDefinition, id: string): Execution {
    const label = `instance "${id}" of workflow "${definition.name}" ${definition.version}`
    const { failsForgotten } = this.#options
    const execution = new Execution(label, this.#core.values, failsForgotten)
    if (failsForgotten) execution.trace()
    return execution
  }

  /** Takes a new instance through its first turn. Its start is committed with that turn. */
  begin(instance: LiveInstance): void {
    this.#add(instance)
    this.turns.enqueue(instance)
  }

  /** Continues an instance that was just claimed; `kept` when it is still in memory. */
  claimed(
    claim: Claim,
    loaded: Loaded,
    definition: WorkflowDefinition,
    kept: LiveInstance | undefined,
  ): void {
    const stale = this.instances.get(claim.iid)
    if (stale !== undefined) this.eviction.evict(stale, 'it was claimed again')
    const { instance, error } = kept
      ? { instance: kept }
      : readInstance(loaded, definition, this.execution(definition, loaded.id))
    this.#core.meter?.claimed(definition.name, kept !== undefined, claim.deaths)
    instance.claimed(claim.epoch, loaded.tasks, claim.deaths >= QUARANTINE_DEATHS)
    this.#add(instance)
    if (error !== undefined) return void this.#suspension.suspend(instance, error)
    if (claim.deaths >= MAX_DEATHS) {
      const poison = new PoisonError(claim.deaths, claim.doing)
      return void this.#suspension.suspend(instance, poison)
    }
    this.turns.enqueue(instance)
    this.#receive(instance, loaded)
  }

  /** An instance continues as the execution that begins with this row. */
  continueAs(instance: LiveInstance, first: TurnRow): void {
    const next = continueInstance(instance, first, this.#core, this)
    this.#add(next)
    this.turns.enqueue(next)
  }

  #add(instance: LiveInstance): void {
    this.instances.add(instance)
    instance.run.onBreak(() => {
      // Its next turn finds it broken, and suspends it. A released instance has no turn now.
      if (instance.phase.is === 'released') {
        this.#core.log.error(
          { ...instanceKeys(instance), err: instance.run.broken },
          'instance will be suspended when it wakes',
        )
      }
      this.turns.enqueue(instance)
    })
  }

  /** Something arrived for an instance that is owned here. */
  deliver(instance: LiveInstance, loaded: Loaded): void {
    if (!instance.isGone) {
      // Commands are numbered anew in each execution: tasks of another one do not belong to it.
      const tasks = loaded.execution === instance.execution ? loaded.tasks : []
      this.#receive(instance, { inbox: loaded.inbox, tasks })
      this.#seeTasks(instance, tasks)
    }
    if (instance.phase.is === 'released' && instance.hasNews()) this.#finder.look([instance.iid])
  }

  /** Reads the inbox. Suspends an instance whose inbox is invalid. */
  #receive(instance: LiveInstance, { inbox, tasks }: Pick<Loaded, 'inbox' | 'tasks'>): void {
    try {
      instance.inbox.receive(inbox, tasks)
      if (instance.hasNews()) this.turns.enqueue(instance)
    } catch (error) {
      void this.#suspension.suspend(instance, error)
    }
  }

  /** Fails tasks that did not begin in time. The store no longer hands them out. */
  #seeTasks(instance: LiveInstance, tasks: Loaded['tasks']): void {
    const now = this.#core.time.now()
    for (const task of tasks) {
      const issued = instance.run.open.get(task.command)
      if (issued === undefined || !instance.calls.isTask(task.command)) continue
      instance.calls.becameTask(task)
      const work = issued.work as ActivityWork
      if (task.isOwned || task.attempts > 0 || startByOf(work) > now) continue
      this.commands.notStarted(instance, task.command, work)
    }
  }

  /** Puts an arrival into the inbox of an instance, and lets it have a turn. */
  arrive(instance: LiveInstance, arrival: Arrival): void {
    if (instance.isGone) return
    instance.inbox.arrive(arrival)
    // A deferred timer fires when the messages before it are read.
    if (instance.inbox.hasArrivals()) this.turns.enqueue(instance)
  }

  /** An attempt at an activity or a step has ended. */
  attemptEnded(instance: LiveInstance, command: number, attempt: number, end: AttemptEnd): void {
    switch (end.kind) {
      case 'completed':
        return this.arrive(instance, { event: { type: 'completed', command, value: end.payload } })
      case 'failed':
        return this.arrive(instance, { event: { type: 'failed', command, error: end.payload } })
      case 'retry':
        return this.commands.retryAfter(instance, command, attempt, end.delayMs, end.error)
      case 'stored':
        // Its transaction has put the result into the inbox.
        return this.#finder.look([instance.iid])
    }
  }

  /** Activities that do not run here, or wait for a slot, are left to other runtimes. */
  leaveToOthers(instance: LiveInstance, commands: readonly number[]): void {
    if (instance.isGone || instance.phase.is === 'released') return
    for (const command of commands) instance.calls.leaveToOthers(command)
    if (instance.phase.is === 'waiting') this.#writer.tasks(instance)
  }

  /** A child was started, or found to run. Its result comes by mail. */
  childStarted(instance: LiveInstance, command: number, child: Iid): void {
    instance.calls.childStarted(command, child)
    if (instance.isGone) return
    // The code has ended, and only had to start it.
    if (instance.childrenLeft().length > 0) return this.turns.enqueue(instance)
    // After a takeover the result may be in the inbox already.
    this.#finder.look([instance.iid])
    this.releaseIfIdle(instance)
  }

  /** A remote command was given up because the runtime is closing. It no longer keeps the instance. */
  gaveUp(instance: LiveInstance): void {
    this.releaseIfIdle(instance)
    this.#committer.flush()
  }

  /** Decides whether to keep an instance after its turn; `hasRested` when it has waited for a while. */
  nextAfter(instance: LiveInstance, hasRested = false): Next {
    const { closing, time } = this.#core
    return nextAfterTurn(instance, {
      now: time.now(),
      closing: closing.aborted,
      impatient: hasRested || this.#options.restMs === 0 || this.#capacity.isCrowded,
      restMs: this.#options.restMs,
    })
  }

  /**
   * Releases an instance that has nothing to do here for a while; while closing, any that waits. For one
   * that waits for mail, it checks again after a while.
   */
  releaseIfIdle(instance: LiveInstance, hasRested = false): void {
    if (instance.phase.is !== 'waiting') return
    const { alarms, time } = this.#core
    const { restMs } = this.#options
    const next = this.nextAfter(instance, hasRested)
    if (next.kind === 'release') return this.#writer.next(instance, next)
    // Without a rest, what keeps it is not time.
    if (restMs === 0 || !expectsMail(instance) || instance.timers.has(REST)) return
    const at = time.now() + restMs
    instance.timers.set(alarms, REST, at, () => this.releaseIfIdle(instance, true))
  }

  /** Whether no instance runs, waits for a turn, or is being committed. */
  isQuiet(): boolean {
    for (const instance of this.instances) {
      if (instance.phase.is !== 'waiting' || !instance.calls.isIdle) return false
      if (instance.hasNews() || instance.inbox.awaitsMail()) return false
    }
    return true
  }

  /** Begins nothing new, and releases instances as soon as nothing of them runs here. */
  async close(drainMs: number): Promise<void> {
    this.#activities.giveUpWaiting()
    for (const instance of this.instances) this.releaseIfIdle(instance)
    this.#committer.flush()
    await this.eviction.untilAllLeft(this.#core.clock, drainMs)
    for (const instance of this.instances) this.eviction.evict(instance, 'the runtime is closing')
    this.instances.forgetReleased()
  }
}
