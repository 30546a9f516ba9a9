// A runtime: one process's share of the work. It registers with the store, and puts together the
// loops that claim, turn, commit and tick; each is a supervised worker.

import type { Abortable } from '../../base/sync/on-abort.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { News } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { OnHang } from '../../store/lease.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { supervise, type Supervisor } from '../../workers/supervisor.ts'
import type { ChangeFeed, Hint, LocalAttempt, LocalRuntime } from '../core/local-runtime.ts'
import { resend } from '../core/resend.ts'
import type { WorkflowLimits } from '../context/frame.ts'
import type { Client } from '../define/client.ts'
import type { Registry } from '../define/registry.ts'
import type { RuntimeHealth } from '../define/runtime.ts'
import { serves } from '../define/served-tags.ts'
import type { Values } from '../core/values.ts'
import { LocalCall } from './activities/local-activities.ts'
import type { Alarms } from '../core/alarms.ts'
import { runtimeCore } from './core/runtime-core.ts'
import { Committer } from './schedule/committer.ts'
import { InstanceScheduler } from './schedule/instance-scheduler.ts'
import type { Endings, Waiters } from '../core/endings.ts'
import { guardGlobals } from './guard-globals.ts'
import { IidPool } from '../core/iid-pool.ts'
import { Registration } from './discover/registration.ts'
import { WorkFinder } from './discover/work-finder.ts'
import { HintListener } from './discover/hint-listener.ts'
import { Ticker } from './discover/ticker.ts'
import { Capacity } from './schedule/capacity.ts'
import { LiveInstances } from './schedule/live-instances.ts'
import { RemoteCommands } from './schedule/remote-commands.ts'
import { Ownership } from './discover/ownership.ts'
import { LoopHeartbeat } from './discover/loop-heartbeat.ts'
import { remover } from './discover/remover.ts'
import type { NewInstance, StartOutcome } from '../core/start-item.ts'
import { Starts } from './schedule/starts.ts'
import type { StoreClock } from '../core/store-clock.ts'
import { watchUnhandledRejections } from '../core/unhandled-rejections.ts'
import type { TaskPolicy } from './activities/task-claimer.ts'
import { untilIdle } from './until-idle.ts'
import { registrationOf, WorkflowNumbers } from '../core/workflow-numbers.ts'
import { ActivityPool } from './activities/activity-pool.ts'

// close() does not wait for a store that does not answer: nothing is lost by leaving early, other
// runtimes only have to wait for the end of the lease.
const STOP_MS = 5_000
const GOODBYE_MS = 2_000

/** What a runtime is made of. */
export interface RuntimeSetup {
  readonly store: WorkflowStore
  readonly registry: Registry
  readonly values: Values
  readonly clock: Clock
  readonly log: Logger
  /** How long a server that is starting is waited for; not at all without it. */
  readonly connectTimeoutMs?: number
  readonly random: () => number
  readonly leaseMs: number
  /** An event loop that stood still for so long is given up. */
  readonly giveUpMs: number
  /** What follows then. */
  readonly onHang: OnHang
  /** How many instances are worked on at once. */
  readonly maxInstances: number
  /** How many activities run at once. */
  readonly maxActivities: number
  /** Which activities it runs. */
  readonly tasks: TaskPolicy
  readonly limits: WorkflowLimits
  /** Whether calls that cannot be repeated fail inside a workflow. */
  readonly guarded: boolean
  /** Whether a forgotten `await` fails the workflow, rather than being warned of. */
  readonly failsForgotten: boolean
  /** For people: host, process id, version of the package. */
  readonly info: string
}

/** The engine of one process. */
export class EngineRuntime implements LocalRuntime {
  readonly iids: IidPool
  readonly #setup: RuntimeSetup
  readonly #heartbeat: LoopHeartbeat
  readonly #time: StoreClock
  readonly #alarms: Alarms
  readonly #registration: Registration
  readonly #committer: Committer
  readonly #scheduler: InstanceScheduler
  readonly #remoteCommands: RemoteCommands
  readonly #activityPool: ActivityPool
  readonly #finder: WorkFinder
  readonly #ticker: Ticker
  readonly #listener: HintListener
  readonly #starts: Starts
  #supervisor: Supervisor | undefined
  readonly #stopWatching: (() => void)[] = []
  readonly #closing = new AbortController()

  private constructor(setup: RuntimeSetup) {
    const core = runtimeCore(setup, this.#closing.signal)
    const { store, clock, time, alarms, log, values, registry } = core
    const heartbeat = new LoopHeartbeat(setup)
    const iids = new IidPool(store)
    const numbers = new WorkflowNumbers({ store, clock, isClosing: () => core.closing.aborted })
    const registration = new Registration(core, heartbeat, numbers, {
      leaseMs: setup.leaseMs,
      workflows: registrationOf(registry),
      info: setup.info,
      serves: { ...setup.tasks.served, activities: registry.activityNames },
    })
    // A renewal has the store notice, and its clock goes on.
    time.onStepBack = () => registration.lease.request()
    const committer = new Committer(core, registration)
    const instances = new LiveInstances()
    const capacity = new Capacity(core, committer, instances, setup.maxInstances)
    const finder = new WorkFinder(core, registration, capacity, instances)
    const scheduler = new InstanceScheduler(
      core,
      { registration, committer, numbers, instances, capacity, finder },
      {
        context: {
          values,
          log,
          limits: setup.limits,
          registry,
          serves: (tag) => serves(setup.tasks.served, tag),
        },
        heartbeat: heartbeat.shared,
        failsForgotten: setup.failsForgotten,
      },
    )
    const starts = new Starts(core, {
      registration,
      iids,
      numbers,
      committer,
      scheduler,
      capacity,
      finder,
      isKilled: setup.onHang === 'kill',
    })
    const remote = new RemoteCommands(core, {
      iids,
      starts,
      scheduler,
      registration,
      hints: finder,
    })
    const activityPool = new ActivityPool(
      core,
      registration,
      finder,
      heartbeat.shared,
      setup.tasks,
      setup.maxActivities,
    )
    activityPool.reportTo(scheduler)
    scheduler.connect(activityPool, remote)
    const ownership = new Ownership(core, {
      registration,
      scheduler,
      committer,
      starts,
      iids,
      activities: activityPool,
      claimer: finder.claimer,
    })
    const ticker = new Ticker(
      core,
      registration,
      finder,
      ownership,
      scheduler.commands,
      activityPool,
    )
    const listener = new HintListener(core, registration, finder, ticker, ownership, activityPool)
    finder.reportTo(ownership, scheduler)
    registration.reportTo(ownership, listener)
    this.#setup = setup
    this.#heartbeat = heartbeat
    this.#time = time
    this.#alarms = alarms
    this.iids = iids
    this.#registration = registration
    this.#committer = committer
    this.#scheduler = scheduler
    this.#activityPool = activityPool
    this.#finder = finder
    this.#ticker = ticker
    this.#listener = listener
    this.#starts = starts
    this.#remoteCommands = remote
  }

  /** Registers with the store and begins to work. */
  static async open(setup: RuntimeSetup): Promise<EngineRuntime> {
    const runtime = new EngineRuntime(setup)
    await setup.store.open(setup)
    // The server may be restarting. A registration whose answer was lost ends with its lease.
    await resend(
      setup.clock,
      () => runtime.#registration.register(),
      ({ code }) => code === 'connection_lost',
    )
    setup.store.onPromotion?.(() => runtime.#registration.rollBack())
    runtime.#heartbeat.start(setup.store)
    runtime.#stopWatching.push(watchUnhandledRejections())
    if (setup.guarded) runtime.#stopWatching.push(guardGlobals())
    runtime.#supervisor = supervise(
      [
        runtime.#committer.work(),
        runtime.#scheduler.turns.work(),
        runtime.#finder.claimer.work(),
        runtime.#ticker.work(),
        runtime.#finder.mail.work(),
        ...runtime.#activityPool.workers(),
        ...remover(
          setup,
          setup.registry.workflows.flatMap(({ retentionMs = [] }) => retentionMs),
        ),
      ],
      { log: setup.log, clock: setup.clock },
    )
    runtime.#listener.open()
    return runtime
  }

  /** What activities reach as `ctx.client`. */
  serve(client: Client): void {
    this.#activityPool.attempts.serve(client)
  }

  start(start: NewInstance, signal?: Abortable): Promise<StartOutcome> {
    return this.#starts.start(start, signal)
  }

  owns(iid: Iid): boolean {
    return this.#scheduler.instances.get(iid) !== undefined
  }

  attemptAt(iid: Iid, command: number): LocalAttempt | undefined {
    const attempt = this.#scheduler.instances.get(iid)?.calls.attempt(command)
    return attempt instanceof LocalCall ? attempt : undefined
  }

  /** Callers in this process that wait for the end of an instance. */
  get endings(): Endings {
    return this.#scheduler.endings
  }

  /** Callers in this process that wait for the reply to a request. */
  get replied(): Waiters<string, void> {
    return this.#scheduler.afterCommit.replied
  }

  storeNow(): number {
    return this.#time.now()
  }

  claimNow(): void {
    this.#finder.claimer.wake()
  }

  hint(targets: readonly Hint[]): void {
    this.#finder.hint(targets)
  }

  recall(iids: readonly Iid[]): void {
    this.#scheduler.eviction.supersedeAll(iids)
  }

  tell(news: News): void {
    this.#finder.hints.tell(news)
  }

  get changes(): ChangeFeed {
    return this.#finder.hints.news
  }

  /**
   * Ends this runtime: running activities may finish for `drainMs`, then their signals abort. All
   * instances are released, so that another runtime goes on at once.
   */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort()
    // What instances asked for and another transaction blocks would keep them here.
    this.#starts.forgetChildren()
    this.#remoteCommands.close()
    await Promise.all([this.#scheduler.close(drainMs), this.#activityPool.close(drainMs)])
    const { clock } = this.#setup
    const stopAtMs = clock.now() + STOP_MS
    await this.#supervisor?.stop({ within: STOP_MS })
    this.#committer.close()
    this.#starts.close()
    this.#alarms.clear()
    for (const stop of this.#stopWatching) stop()
    await this.#heartbeat.stop()
    try {
      await this.#registration.unregister(Math.max(stopAtMs - clock.now(), GOODBYE_MS))
      // What it had is anybody's now.
      this.tell({ kind: 'freed' })
    } finally {
      await this.#finder.hints.close()
    }
  }

  /** How its parts are doing. */
  health(): RuntimeHealth {
    return {
      workers: this.#supervisor?.health() ?? [],
      hints: this.#finder.hints.health(),
      undelivered: this.#ticker.undelivered,
    }
  }

  /** Resolves when nothing is due. */
  idle(signal: AbortSignal | undefined): Promise<void> {
    return untilIdle(
      {
        clock: this.#setup.clock,
        isQuiet: () => this.#isQuiet(),
        hasNothingDue: () => this.#hasNothingDue(),
      },
      signal,
    )
  }

  #isQuiet(): boolean {
    if (this.#activityPool.tasks.isBusy || this.#committer.size > 0) return false
    if (this.#starts.blocked > 0) return false
    return this.#scheduler.isQuiet()
  }

  async #hasNothingDue(): Promise<boolean> {
    const due = await this.#ticker.ask()
    if (due.work) return false
    return !due.tasks || (await this.#activityPool.claimer.findsNothing())
  }
}
