// A runtime: one process's share of the work. It registers with the store, and puts together the
// loops that claim, turn, commit and tick; each is a supervised worker.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { HearingHealth, News } from '../../store/hints.ts'
import { StoreError } from '../../store/store-error.ts'
import type { TaskInterest, TaskKey } from '../../store/tasks.ts'
import type {
  Claim,
  Delivery,
  Iid,
  Loaded,
  Standing,
  Undelivered,
  Verdict,
  Wanted,
  WorkflowStore,
} from '../../store/workflow-store.ts'
import { supervise, type Supervisor } from '../../workers/supervisor.ts'
import type { Health } from '../../workers/worker.ts'
import type { Client } from '../client/client.ts'
import type { ChangesElsewhere, Hint, LocalRuntime } from '../client/client-setup.ts'
import type { WorkflowLimits } from '../context/frame.ts'
import { momentAfter } from '../context/moments.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import type { Registry } from '../registry.ts'
import { serves } from '../served-tags.ts'
import type { Values } from '../values.ts'
import { Alarms } from './alarms.ts'
import { Claimer, type ClaimHost } from './claimer.ts'
import { Committer, type CommitHost, type Identity } from './committer.ts'
import { Conductor } from './conductor.ts'
import { type Copy, newCopy } from './copy.ts'
import { type Endings, Waiters } from './endings.ts'
import { guardGlobals } from './guard-globals.ts'
import { Hearing } from './hearing.ts'
import { IidPool } from './iid-pool.ts'
import { Life, untilAnswered } from './life.ts'
import { type MailHost, MailReader } from './mail-reader.ts'
import { Outgoing } from './outgoing.ts'
import { Ownership } from './ownership.ts'
import { Pulse } from './pulse.ts'
import { remover } from './remover.ts'
import { firstEvent, type NewInstance, startItem } from './start-item.ts'
import { StoreClock } from './store-clock.ts'
import { watchStrays } from './strays.ts'
import type { TaskPolicy } from './task-runner.ts'
import { Ticker, type TickHost } from './ticker.ts'
import { untilIdle } from './until-idle.ts'
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
  readonly random: () => number
  readonly leaseMs: number
  /** An event loop that stood still for so long is given up. */
  readonly giveUpMs: number
  /** Whether the process is then ended, and what hangs in it set aside. */
  readonly endsProcess: boolean
  /** How many instances are worked on at once. */
  readonly mostInstances: number
  /** How many activities run at once. */
  readonly mostActivities: number
  /** Which activities it runs. */
  readonly tasks: TaskPolicy
  readonly limits: WorkflowLimits
  /** Whether calls that cannot be repeated fail inside a workflow. */
  readonly guarded: boolean
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

/** What became of a start. */
export interface Started {
  readonly iid: Iid
  readonly verdict: Verdict
}

/** The engine of one process. */
export class EngineRuntime implements CommitHost, ClaimHost, TickHost, MailHost, LocalRuntime {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  readonly pulse: Pulse
  /** Who waits in this process for which answer. */
  readonly replied = new Waiters<string, void>()
  readonly #setup: RuntimeSetup
  readonly #time: StoreClock
  readonly #alarms: Alarms
  readonly #iids: IidPool
  readonly #committer: Committer
  readonly #conductor: Conductor
  readonly #ownership: Ownership
  readonly #workforce: Workforce
  readonly #outgoing: Outgoing
  readonly #mail: MailReader
  readonly #claimer: Claimer
  readonly #ticker: Ticker
  readonly #hearing: Hearing
  readonly #life: Life
  readonly #numbers = new Map<WorkflowDefinition, number>()
  readonly #warned = new Set<string>()
  readonly #dueAlarm = { ring: () => this.#claimDue() }
  #supervisor: Supervisor | undefined
  readonly #stopWatching: (() => void)[] = []
  #closing = false
  #client: Client | undefined

  private constructor(setup: RuntimeSetup) {
    const { store, clock, log, leaseMs, values, registry, random } = setup
    this.#setup = setup
    this.store = store
    this.clock = clock
    this.log = log
    this.leaseMs = leaseMs
    this.pulse = new Pulse(setup)
    this.#time = new StoreClock(clock)
    this.#alarms = new Alarms(clock, this.#time)
    this.#iids = new IidPool(store)
    this.#life = this.#makeLife()
    this.#committer = new Committer(this)
    this.#claimer = new Claimer(this)
    this.#ticker = new Ticker(this)
    this.#mail = new MailReader(this)
    this.#hearing = new Hearing(
      {
        clock,
        log,
        runtimeNumber: () => this.runtimeNumber(),
        workflowNumbers: () => this.workflowNumbers(),
        taskInterest: () => this.taskInterest(),
        heldTasks: () => this.heldTasks(),
        freeInstances: () => this.freeInstances(),
        owns: (iid) => this.owns(iid),
        look: (iids) => this.#mail.look(iids),
        claimAt: (at) => this.claimAt(at),
        tasksAt: (at) => this.tasksAt(at),
        abortTasks: (keys) => this.#workforce.tasks.abort(keys),
        recall: (iids) => this.recall(iids),
        ask: async () => {
          const { work, tasks } = await this.#ticker.ask()
          return !work && !tasks
        },
        tick: () => this.#ticker.wake(),
      },
      store.hints,
    )
    const conductor = new Conductor({
      clock,
      time: this.#time,
      alarms: this.#alarms,
      pulse: this.pulse.shared,
      values,
      log,
      committer: this.#committer,
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
      foreignNumber: (name, version) => this.#foreignNumber(name, version),
      crowded: () => this.freeInstances() < setup.mostInstances / 2,
      look: (iids) => this.#look(iids),
      changed: (iid) => this.#hearing.changed(iid),
      replied: (to) => to.forEach((address) => this.replied.tell(address)),
      handOver: (deliveries) => void this.#handOver(deliveries),
      workflowNumber: (definition) => this.#numbers.get(definition),
      claimAt: (at) => this.claimAt(at),
      left: () => this.#claimer.roomFreed(),
      aboutTo: (copy, doing) => this.#aboutTo(copy, doing),
      carefulOver: () => this.#carefulOver(),
      tasksMade: (tasks) => {
        this.#workforce.tasks.wake()
        this.#hearing.tellTasks(tasks)
      },
      tasksDropped: (keys) => {
        this.#workforce.tasks.abort(keys)
        this.tell({ kind: 'dropped', tasks: keys })
      },
    })
    this.#conductor = conductor
    const isDead = (runtime: number): boolean => this.isDead(runtime)
    this.#ownership = new Ownership({ store, registry, conductor, isDead })
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
      newIid: () => this.#iids.take(),
      start: (start) => this.start(start),
      workflow: (name, version) => registry.workflow({ name, version }),
      recall: (copy) => conductor.recall(copy),
      startedChild: (copy, command, child) => conductor.startedChild(copy, command, child),
      hint: (targets) => this.hint(targets),
      setBacks: () => this.#life.setBacks,
    })
    this.#workforce = new Workforce(
      {
        store,
        clock,
        time: this.#time,
        alarms: this.#alarms,
        log,
        values,
        random,
        pulse: this.pulse.shared,
        registry,
        client: () => this.#client!,
        runtimeNumber: () => this.runtimeNumber(),
        mayStart: () => this.#ticker.leaseHolds(),
        onDead: (runtime) => this.onDead(runtime),
        hint: (targets) => this.hint(targets),
        completed,
        failed,
        retry: (...told) => conductor.retryAfter(...told),
        leaveToOthers: (copy, commands) => conductor.leaveToOthers(copy, commands),
        rest: (copy) => conductor.rest(copy),
        carefulOver: () => this.#carefulOver(),
        handOver: (delivery) => void this.#handOver([delivery]),
      },
      setup.tasks,
      setup.mostActivities,
    )
  }

  /** Registers with the store and begins to work. */
  static async open(setup: RuntimeSetup): Promise<EngineRuntime> {
    const runtime = new EngineRuntime(setup)
    await setup.store.open()
    await runtime.#life.register()
    setup.store.onPromotion?.(() => runtime.#life.setBack())
    runtime.pulse.start(setup.store)
    runtime.#stopWatching.push(watchStrays())
    if (setup.guarded) runtime.#stopWatching.push(guardGlobals())
    runtime.#supervisor = supervise(
      [
        runtime.#committer.work(),
        runtime.#conductor.turner.work(),
        runtime.#claimer.work(),
        runtime.#ticker.work(),
        runtime.#mail.work(),
        ...runtime.#workforce.workers(),
        ...remover(
          setup,
          setup.registry.workflows.flatMap(({ retentionMs = [] }) => retentionMs),
        ),
      ],
      { log: setup.log, clock: setup.clock },
    )
    runtime.#hearing.open()
    runtime.#ticker.wake()
    return runtime
  }

  /** What activities reach as `ctx.client`. */
  serve(client: Client): void {
    this.#client = client
  }

  /** Starts an instance; resolves when it is recorded, or when its id turns out to be taken. */
  async start(start: NewInstance): Promise<Started> {
    await this.#committer.room()
    const iid = start.iid ?? (await this.#iids.take())
    if (this.#closing) throw new StoreError('closed', 'start', 'the runtime is closing')
    const { definition, id, input, parent, delayMs } = start
    const isLater = start.iid !== undefined || delayMs > 0
    if (isLater || !this.#numbers.has(definition) || this.freeInstances() <= 0) {
      return this.#startUnowned(start, iid)
    }
    const run = this.#conductor.execution(definition, id)
    const started = firstEvent(start)
    const copy = newCopy({ iid, id, definition, run, input, started, parent })
    return new Promise((resolve, reject) => {
      copy.onStarted = (verdict) =>
        verdict instanceof Error ? reject(verdict) : resolve({ iid, verdict })
      this.#conductor.begin(copy, start)
    })
  }

  hint(targets: readonly Hint[]): void {
    const own = this.runtimeNumber()
    this.#mail.look(
      targets.filter(({ owner }) => owner === null || owner === own).map(({ iid }) => iid),
    )
    this.#hearing.tellMail(targets.map(({ iid }) => iid))
  }

  tell(news: News): void {
    this.#hearing.tell(news)
  }

  get news(): ChangesElsewhere {
    return this.#hearing.news
  }

  /** There may be mail for these, whoever owns them. */
  #look(iids: readonly Iid[]): void {
    this.#mail.look(iids)
    this.#hearing.tellMail(iids)
  }

  /** Something has fallen due; others are asked where there is no room for it. */
  #claimDue(): void {
    this.#claimer.due()
    if (this.freeInstances() <= 0) this.#hearing.overflow()
  }

  recall(iids: readonly Iid[]): void {
    for (const iid of iids) {
      const copy = this.copy(iid)
      if (copy !== undefined) this.#conductor.recall(copy)
    }
  }

  copy(iid: Iid): Copy | undefined {
    return this.#conductor.copies.get(iid)
  }

  load(wanted: readonly Wanted[]): Promise<readonly Loaded[]> {
    return this.store.load(wanted)
  }

  deliver(copy: Copy, loaded: Loaded): void {
    this.#conductor.deliver(copy, loaded)
  }

  claim(iids: readonly Iid[]): void {
    this.#claimer.hint(iids)
  }

  /** Who waits in this process for the end of which instance. */
  get endings(): Endings {
    return this.#conductor.endings
  }

  /**
   * Ends this runtime: running activities may finish for `drainMs`, then their signals abort. All
   * instances are released, so that another runtime goes on at once.
   */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    await Promise.all([this.#conductor.close(drainMs), this.#workforce.tasks.close(drainMs)])
    const stopAtMs = this.clock.now() + STOP_MS
    await this.#supervisor?.stop({ within: STOP_MS })
    this.#committer.close()
    this.#alarms.clear()
    for (const stop of this.#stopWatching) stop()
    await this.pulse.stop()
    try {
      await this.#life.unregister(Math.max(stopAtMs - this.clock.now(), GOODBYE_MS))
      // What it had is anybody's now.
      this.tell({ kind: 'freed' })
    } finally {
      await this.#hearing.close()
    }
  }

  /** How its parts are doing. */
  health(): RuntimeHealth {
    return {
      workers: this.#supervisor?.health() ?? [],
      hints: this.#hearing.health(),
      undelivered: this.#ticker.undelivered,
    }
  }

  /** Resolves when nothing is due. */
  idle(signal: AbortSignal | undefined): Promise<void> {
    return untilIdle(this, signal)
  }

  isQuiet(): boolean {
    if (this.#workforce.tasks.busy || this.#committer.size > 0) return false
    return this.#conductor.isQuiet()
  }

  async hasNothingDue(): Promise<boolean> {
    const due = await this.#ticker.ask()
    if (due.work) return false
    return !due.tasks || (await this.#workforce.tasks.findsNothing())
  }

  identity(): Identity {
    return this.#life.identity
  }

  runtimeNumber(): number {
    return this.#life.identity.runtime
  }

  workflowNumbers(): readonly number[] {
    return [...this.#numbers.values()]
  }

  freeInstances(): number {
    if (this.#closing || this.#committer.crowded || this.#conductor.copies.heavy) return 0
    return this.#setup.mostInstances - this.#conductor.copies.owned
  }

  owns(iid: Iid): boolean {
    return this.#conductor.copies.get(iid) !== undefined
  }

  held(): readonly Standing[] {
    return this.#ownership.held()
  }

  dropLost(held: readonly Standing[], owned: readonly Claim[]): void {
    this.#ownership.dropLost(held, owned)
  }

  ownedCount(): number {
    return this.#conductor.copies.recorded
  }

  sawTime(ms: number, askedMs: number): void {
    this.#time.saw(ms, askedMs)
  }

  storeNow(): number {
    return this.#time.now()
  }

  askWhatIsNext(): void {
    this.#ticker.wake()
  }

  claimAt(at: number): void {
    if (!this.#closing) this.#alarms.set(this.#dueAlarm, at)
  }

  taskInterest(): TaskInterest | null {
    return this.#workforce.tasks.interest
  }

  unknownActivities(): readonly string[] {
    return this.#conductor.unknownActivities
  }

  stranded(iids: readonly Iid[]): void {
    this.#claimer.hint(iids)
  }

  heldTasks(): readonly (TaskKey & { readonly attempt: number })[] {
    return this.#workforce.tasks.held()
  }

  isIdle(): boolean {
    return !this.#closing && this.#workforce.slots.idle
  }

  lostTasks(keys: readonly (TaskKey & { readonly attempt: number })[]): void {
    this.#workforce.tasks.abort(keys)
  }

  tasksAt(at: number): void {
    if (!this.#closing) this.#workforce.tasksAt(at)
  }

  helpedWith(activities: readonly string[]): void {
    this.#workforce.helpedWith(activities)
  }

  /** Something became claimable. */
  claimNow(): void {
    this.#claimer.wake()
  }

  reconcile(): void {
    this.#claimer.reconcile()
  }

  takeOn(runtime: number, claims: readonly Claim[]): Promise<void> {
    return this.#ownership.takeOn(runtime, claims)
  }

  readMail(iids: readonly Iid[]): void {
    this.#mail.look(iids)
  }

  onDead(runtime: number): Promise<void> {
    return this.#life.onDead(runtime)
  }

  isDead(runtime: number): boolean {
    return this.#life.isDead(runtime)
  }

  onLapse(): Promise<void> {
    return this.#ownership.dropTaken(this.runtimeNumber())
  }

  onServerChange(): Promise<ReadonlySet<Iid>> {
    return this.#life.onServerChange()
  }

  #makeLife(): Life {
    const { store, clock, log, leaseMs, registry, info } = this.#setup
    const workflows = registry.workflows.map(({ name, version, retentionMs }) => ({
      name,
      version,
      retentionMs,
    }))
    return new Life({
      store,
      clock,
      log,
      registration: { leaseMs, workflows, info },
      registered: (registered, askedMs) => {
        this.#time.saw(registered.clock, askedMs)
        this.#ticker.renewedAt(askedMs)
        this.pulse.shared.runtime = registered.runtime
        registry.workflows.forEach((definition, i) =>
          this.#numbers.set(definition, registered.workflows[i]!),
        )
      },
      takenOver: () => {
        for (const copy of this.#conductor.copies) {
          if (copy.turn > 0) this.#conductor.recall(copy, 'another runtime has taken over')
        }
        this.#committer.forgetTurns()
        this.#conductor.copies.forgetReleased()
        this.#workforce.tasks.lost('another runtime has taken over')
      },
      setBack: () => {
        for (const copy of this.#conductor.copies) {
          if (copy.turn === 0 && copy.parent === null) continue
          this.#conductor.setBack(copy, 'the database may have lost its latest turns')
        }
        this.#committer.forgetAll()
        this.#conductor.copies.forgetReleased()
        this.#workforce.tasks.lost('the database may have lost it')
        this.#iids.forget()
      },
      owned: () => this.#conductor.copies.owned,
      goOn: () => {
        this.#hearing.refresh()
        this.#ticker.wake()
        this.#claimer.wake()
      },
      dropUnknown: (runtime) => this.#ownership.dropUnknown(runtime),
      serverChanged: () => {
        // A server that lost its tail may hand out the same numbers again.
        this.#iids.forget()
        this.#claimer.reconcile()
      },
      isClosing: () => this.#closing,
    })
  }

  async #startUnowned(start: NewInstance, iid: Iid): Promise<Started> {
    const { definition, delayMs } = start
    const known = this.#numbers.get(definition)
    if (known === undefined) this.#warnUnregistered(definition)
    const { name, version } = definition
    const workflow = known ?? (await this.#foreignNumber(name, version))
    const at = this.#time.now()
    const wakeAt = momentAfter(at, delayMs)
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      this.#committer.add({
        start: startItem(start, { iid, workflow, at, wakeAt }),
        settle: (result) => (result instanceof Error ? reject(result) : resolve(result)),
      })
      this.#committer.flush()
    })
    if (known !== undefined) this.claimAt(wakeAt)
    if (verdict === 'done') this.#tellStart(iid, known !== undefined)
    return { iid, verdict }
  }

  /** An instance that nobody owns is for others, unless there is room for it here. */
  #tellStart(iid: Iid, isKnown: boolean): void {
    if (!isKnown || this.freeInstances() <= 0) this.tell({ kind: 'due', iids: [iid] })
  }

  /** What somebody died with comes one at a time, instances and tasks alike: the next may come. */
  #carefulOver(): void {
    this.#claimer.wake()
    this.#workforce.tasks.wake()
  }

  /** A store that cannot be asked says no: the instance is read again by whoever owns it then. */
  async #aboutTo(copy: Copy, doing: string): Promise<boolean> {
    const { iid, epoch } = copy
    // It may have been released meanwhile, and even be owned again: then this is about the past.
    const drop = (reason: string): void => {
      if (copy.epoch === epoch && copy.state !== 'released') this.#conductor.drop(copy, reason)
    }
    try {
      if (await this.store.aboutTo(this.runtimeNumber(), iid, epoch, doing)) return true
      drop('it was taken away')
    } catch (error) {
      this.log.warn({ id: copy.id, err: error }, 'what is about to be done could not be noted')
      drop('the store does not answer')
      this.#claimer.reconcile()
    }
    return false
  }

  async #foreignNumber(name: string, version: string): Promise<number> {
    const [number] = await untilAnswered(
      this.clock,
      () => this.#closing,
      () => this.store.workflowNumbers([{ name, version }]),
    )
    return number!
  }

  /** Whoever owns the instance now, or will, finds these results in its inbox. */
  async #handOver(deliveries: readonly Delivery[]): Promise<void> {
    try {
      await this.store.send(deliveries)
      this.#look(deliveries.map(({ iid }) => iid))
    } catch (error) {
      this.log.warn({ err: error }, 'results of an instance that was taken over are lost')
    }
  }

  #warnUnregistered({ name, version }: WorkflowDefinition): void {
    if (this.#warned.has(`${name} ${version}`)) return
    this.#warned.add(`${name} ${version}`)
    this.log.warn(
      { workflow: name, version },
      'this workflow is not registered here: its instances wait for a runtime that registers it',
    )
  }
}
