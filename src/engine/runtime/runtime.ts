// A runtime: one process's share of the work. It registers with the store, and puts together the
// loops that claim, turn, commit and tick; each is a supervised worker.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { HearingHealth, News } from '../../store/hints.ts'
import type { Delivery } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import type { OnHang } from '../../store/lease.ts'
import type { Undelivered } from '../../store/runtimes.ts'
import { StoreError } from '../../store/store-error.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { supervise, type Supervisor } from '../../workers/supervisor.ts'
import type { Health } from '../../workers/worker.ts'
import type { LocalAttempt } from '../client/activity-words.ts'
import type { Client } from '../client/client.ts'
import type { ChangesElsewhere, Hint, LocalRuntime } from '../client/client-setup.ts'
import { resend } from '../client/resend.ts'
import type { WorkflowLimits } from '../context/frame.ts'
import type { Registry } from '../registry.ts'
import { serves } from '../served-tags.ts'
import type { Values } from '../values.ts'
import { LocalCall } from './activities.ts'
import { Alarms } from './alarms.ts'
import { Committer } from './committer.ts'
import { Conductor } from './conductor.ts'
import type { Copy } from './copy.ts'
import { type Endings, Waiters } from './endings.ts'
import { guardGlobals } from './guard-globals.ts'
import { IidPool } from './iid-pool.ts'
import { Life } from './life.ts'
import { Lookout } from './lookout.ts'
import { noteBefore, type NoteHost } from './note-before.ts'
import { Outgoing } from './outgoing.ts'
import { Ownership } from './ownership.ts'
import { Pulse } from './pulse.ts'
import { remover } from './remover.ts'
import type { NewInstance } from './start-item.ts'
import { type Started, Starts } from './starts.ts'
import { StoreClock } from './store-clock.ts'
import { watchStrays } from './strays.ts'
import type { TaskPolicy } from './task-runner.ts'
import { untilIdle } from './until-idle.ts'
import { registrationOf, WorkflowNumbers } from './workflow-numbers.ts'
import { Workforce } from './workforce.ts'

// Whoever closes a runtime does not wait for a store that does not answer: nothing is lost by going
// early, it only takes the others until the end of the lease to go on.
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
  readonly mostInstances: number
  /** How many activities run at once. */
  readonly mostActivities: number
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

/** How the parts of a runtime are doing. */
export interface RuntimeHealth {
  /** Its loops. */
  readonly workers: readonly Health[]
  /** How it hears of what other processes do. */
  readonly hints: HearingHealth
  /** Messages that nobody will receive, and that this runtime has removed so far. */
  readonly undelivered: Undelivered
}

/** The engine of one process. */
export class EngineRuntime implements LocalRuntime {
  readonly iids: IidPool
  /** Who waits in this process for which answer. */
  readonly replied = new Waiters<string, void>()
  readonly #setup: RuntimeSetup
  readonly #pulse: Pulse
  readonly #time: StoreClock
  readonly #alarms: Alarms
  readonly #numbers: WorkflowNumbers
  readonly #life: Life
  readonly #committer: Committer
  readonly #conductor: Conductor
  readonly #ownership: Ownership
  readonly #outgoing: Outgoing
  readonly #workforce: Workforce
  readonly #lookout: Lookout
  readonly #starts: Starts
  #supervisor: Supervisor | undefined
  readonly #stopWatching: (() => void)[] = []
  #closing = false
  #client: Client | undefined

  private constructor(setup: RuntimeSetup) {
    const { store, clock, log, leaseMs, values, registry, random } = setup
    const isClosing = (): boolean => this.#closing
    const freeInstances = (): number => this.#freeInstances()
    const runtimeNumber = (): number => life.identity.runtime
    const pulse = new Pulse(setup)
    const time = new StoreClock(clock)
    const alarms = new Alarms(clock, time)
    const iids = new IidPool(store)
    const numbers = new WorkflowNumbers({ store, clock, isClosing })
    const life = this.#makeLife(setup)
    const committer = new Committer({
      store,
      clock,
      log,
      identity: () => life.identity,
      sawTime: (ms, askedMs) => time.saw(ms, askedMs),
      onDead: (runtime) => life.onDead(runtime),
      isDead: (runtime) => life.isDead(runtime),
      onServerChange: () => life.onServerChange(),
    })
    const conductor = new Conductor({
      store,
      failsForgotten: setup.failsForgotten,
      clock,
      time,
      alarms,
      pulse: pulse.shared,
      values,
      log,
      committer,
      context: {
        values,
        log,
        limits: setup.limits,
        activity: (name) => registry.activity(name),
        learn: (activity) => registry.learn(activity),
        serves: (tag) => serves(setup.tasks.served, tag),
        latest: (name) => registry.latest(name),
      },
      activities: () => this.#workforce.activities,
      slots: () => this.#workforce.slots,
      outgoing: () => this.#outgoing,
      workflow: (name, version) =>
        version === undefined ? registry.latest(name) : registry.workflow({ name, version }),
      workflowNumber: (definition) => numbers.of(definition),
      foreignNumber: (name, version) => numbers.ask(name, version),
      crowded: () => freeInstances() < setup.mostInstances / 2,
      look: (instances) => this.#lookout.look(instances),
      changed: (iid) => this.#lookout.hearing.changed(iid),
      ended: (iid) => this.#lookout.hearing.ended(iid),
      replied: (to) => to.forEach((address) => this.replied.tell(address)),
      handOver: (deliveries) => void this.#handOver(deliveries),
      claimAt: (at) => this.#lookout.claimAt(at),
      left: (iid) => this.#lookout.claimer.left(iid),
      aboutTo: (copy, doing) => noteBefore(notes, copy, doing),
      dropped: () => this.#lookout.claimer.doubt(),
      carefulOver: () => this.#carefulOver(),
      tasksMade: (tasks) => {
        this.#workforce.tasks.wake()
        this.#lookout.hearing.tellTasks(tasks)
      },
      tasksDropped: (keys) => {
        this.#workforce.tasks.abort(keys)
        this.tell({ kind: 'dropped', tasks: keys })
      },
    })
    const { departures } = conductor
    const reconcile = (): void => this.#lookout.claimer.reconcile()
    const notes: NoteHost = { store, log, departures, runtimeNumber, reconcile }
    const isDead = (runtime: number): boolean => life.isDead(runtime)
    const ownership = new Ownership({ store, registry, conductor, isDead })
    const completed = (copy: Copy, command: number, value: string): void =>
      conductor.arrive(copy, [{ event: { type: 'completed', command, value } }])
    const failed = (copy: Copy, command: number, error: string): void =>
      conductor.arrive(copy, [{ event: { type: 'failed', command, error } }])
    this.#outgoing = new Outgoing({
      store,
      clock,
      log,
      values,
      random,
      completed,
      failed,
      iids,
      start: (start, signal) => this.start(start, signal),
      workflow: (name, version) => registry.workflow({ name, version }),
      recall: (copy) => departures.recall(copy),
      gaveUp: (copy) => conductor.gaveUp(copy),
      startedChild: (copy, command, child) => conductor.startedChild(copy, command, child),
      hint: (targets) => this.hint(targets),
      setBacks: () => life.setBacks,
    })
    const workforce = new Workforce(
      {
        store,
        clock,
        time,
        alarms,
        log,
        values,
        random,
        pulse: pulse.shared,
        registry,
        client: () => this.#client!,
        runtimeNumber,
        foundTasks: (count) => this.#lookout.hearing.found(count),
        mayStart: () => this.#lookout.ticker.leaseHolds(),
        onDead: (runtime) => life.onDead(runtime),
        hint: (targets) => this.hint(targets),
        completed,
        failed,
        retry: (...told) => conductor.retryAfter(...told),
        leaveToOthers: (copy, commands) => conductor.leaveToOthers(copy, commands),
        rest: (copy) => conductor.resting.releaseIfAtRest(copy),
        carefulOver: () => this.#carefulOver(),
        handOver: (delivery) => void this.#handOver([delivery]),
      },
      setup.tasks,
      setup.mostActivities,
    )
    this.#lookout = new Lookout({
      store,
      clock,
      log,
      leaseMs,
      pulse,
      time,
      alarms,
      life,
      numbers,
      conductor,
      ownership,
      workforce,
      freeInstances,
      isClosing,
    })
    // A renewal has the store notice, and its clock goes on.
    time.onStepBack = () => this.#lookout.ticker.renew()
    this.#starts = new Starts({
      isKilled: setup.onHang === 'kill',
      store,
      clock,
      log,
      random,
      runtimeNumber,
      time,
      iids,
      numbers,
      committer,
      conductor,
      freeInstances,
      isClosing,
      claimAt: (at) => this.#lookout.claimAt(at),
      tell: (news) => this.tell(news),
    })
    this.#setup = setup
    this.#pulse = pulse
    this.#time = time
    this.#alarms = alarms
    this.iids = iids
    this.#numbers = numbers
    this.#life = life
    this.#committer = committer
    this.#conductor = conductor
    this.#ownership = ownership
    this.#workforce = workforce
  }

  /** Registers with the store and begins to work. */
  static async open(setup: RuntimeSetup): Promise<EngineRuntime> {
    const runtime = new EngineRuntime(setup)
    await setup.store.open(setup)
    // The server may be restarting just now. Whoever is registered twice is dead once as well.
    await resend(
      setup.clock,
      () => runtime.#life.register(),
      ({ code }) => code === 'connection_lost',
    )
    setup.store.onPromotion?.(() => runtime.#life.setBack())
    runtime.#pulse.start(setup.store)
    runtime.#stopWatching.push(watchStrays())
    if (setup.guarded) runtime.#stopWatching.push(guardGlobals())
    runtime.#supervisor = supervise(
      [
        runtime.#committer.work(),
        runtime.#conductor.turner.work(),
        ...runtime.#lookout.workers(),
        ...runtime.#workforce.workers(),
        ...remover(
          setup,
          setup.registry.workflows.flatMap(({ retentionMs = [] }) => retentionMs),
        ),
      ],
      { log: setup.log, clock: setup.clock },
    )
    runtime.#lookout.open()
    return runtime
  }

  /** What activities reach as `ctx.client`. */
  serve(client: Client): void {
    this.#client = client
  }

  start(start: NewInstance, signal?: AbortSignal): Promise<Started> {
    return this.#starts.start(start, signal)
  }

  owns(iid: Iid): boolean {
    return this.#conductor.copies.get(iid) !== undefined
  }

  attemptAt(iid: Iid, command: number): LocalAttempt | undefined {
    const running = this.#conductor.copies.get(iid)?.running.get(command)
    return running instanceof LocalCall ? running : undefined
  }

  /** Who waits in this process for the end of which instance. */
  get endings(): Endings {
    return this.#conductor.endings
  }

  storeNow(): number {
    return this.#time.now()
  }

  claimNow(): void {
    this.#lookout.claimer.wake()
  }

  hint(targets: readonly Hint[]): void {
    this.#lookout.hint(targets)
  }

  recall(iids: readonly Iid[]): void {
    this.#conductor.departures.recallAll(iids)
  }

  tell(news: News): void {
    this.#lookout.hearing.tell(news)
  }

  get news(): ChangesElsewhere {
    return this.#lookout.hearing.news
  }

  /**
   * Ends this runtime: running activities may finish for `drainMs`, then their signals abort. All
   * instances are released, so that another runtime goes on at once.
   */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    // What instances asked for and another transaction blocks would keep them here.
    this.#starts.forgetChildren()
    this.#outgoing.close()
    await Promise.all([this.#conductor.close(drainMs), this.#workforce.tasks.close(drainMs)])
    const { clock } = this.#setup
    const stopAtMs = clock.now() + STOP_MS
    await this.#supervisor?.stop({ within: STOP_MS })
    this.#committer.close()
    this.#starts.close()
    this.#alarms.clear()
    for (const stop of this.#stopWatching) stop()
    await this.#pulse.stop()
    try {
      await this.#life.unregister(Math.max(stopAtMs - clock.now(), GOODBYE_MS))
      // What it had is anybody's now.
      this.tell({ kind: 'freed' })
    } finally {
      await this.#lookout.hearing.close()
    }
  }

  /** How its parts are doing. */
  health(): RuntimeHealth {
    return {
      workers: this.#supervisor?.health() ?? [],
      hints: this.#lookout.hearing.health(),
      undelivered: this.#lookout.ticker.undelivered,
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
    if (this.#workforce.tasks.busy || this.#committer.size > 0) return false
    if (this.#starts.blocked > 0) return false
    return this.#conductor.isQuiet()
  }

  async #hasNothingDue(): Promise<boolean> {
    const due = await this.#lookout.ticker.ask()
    if (due.work) return false
    return !due.tasks || (await this.#workforce.tasks.findsNothing())
  }

  #freeInstances(): number {
    if (this.#closing || this.#committer.crowded || this.#conductor.copies.heavy) return 0
    return this.#setup.mostInstances - this.#conductor.copies.owned
  }

  #makeLife({ store, clock, log, leaseMs, registry, info, tasks }: RuntimeSetup): Life {
    return new Life({
      store,
      clock,
      log,
      registration: {
        leaseMs,
        workflows: registrationOf(registry),
        info,
        serves: { ...tasks.served, activities: registry.activityNames },
      },
      registered: (registered, askedMs, askedDateMs) => {
        this.#time.saw(registered.clock, askedMs)
        this.#lookout.ticker.renewedAt(askedMs, askedDateMs)
        this.#pulse.shared.runtime = registered.runtime
        this.#numbers.learn(registry, registered.workflows)
      },
      takenOver: () => {
        this.#conductor.departures.recallRecorded('another runtime has taken over')
        this.#committer.forgetTurns()
        this.#conductor.copies.forgetReleased()
        this.#workforce.tasks.lost('another runtime has taken over')
      },
      setBack: () => {
        this.#conductor.departures.setBackAll('the database may have lost its latest turns')
        this.#committer.forgetAll()
        this.#starts.forgetChildren()
        this.#conductor.copies.forgetReleased()
        this.#workforce.tasks.lost('the database may have lost it')
        this.iids.forget()
      },
      owned: () => this.#conductor.copies.owned,
      goOn: () => this.#lookout.goOn(),
      dropUnknown: (runtime) => this.#ownership.dropUnknown(runtime),
      serverChanged: () => {
        // A server that lost its tail may hand out the same numbers again.
        this.iids.forget()
        this.#lookout.claimer.reconcile()
      },
      isClosing: () => this.#closing,
    })
  }

  /** What somebody died with comes one at a time, instances and tasks alike: the next may come. */
  #carefulOver(): void {
    this.#lookout.claimer.wake()
    this.#workforce.tasks.wake()
  }

  /** Whoever owns the instance now, or will, finds these results in its inbox. */
  async #handOver(deliveries: readonly Delivery[]): Promise<void> {
    try {
      await this.#setup.store.send(deliveries)
      this.#lookout.look(deliveries.map(({ iid }) => iid))
    } catch (error) {
      // What outlasts a runtime that is closed is lost to nobody: the instance has ended, or whoever
      // goes on with it runs the activity again, as one that was cut short.
      if (this.#closing && error instanceof StoreError && error.code === 'closed') return
      this.#setup.log.warn({ err: error }, 'results of an instance that was taken over are lost')
    }
  }
}
