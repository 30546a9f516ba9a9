// Everything by which a runtime finds out what there is for it to do: ticks, claims, mail, and hints
// of other processes. Each leads to the others: a tick to mail and to claims, mail for what is not
// owned here to a claim, a claim to a tick, a hint to any of them.

import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type { Iid } from '../../../store/instances.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { Worker } from '../../../workers/worker.ts'
import type { Hint } from '../../core/local-runtime.ts'
import { abortUnwanted } from '../activities/abort-unwanted.ts'
import type { Alarms } from '../../core/alarms.ts'
import { Claimer } from './claimer.ts'
import type { InstanceScheduler } from '../schedule/instance-scheduler.ts'
import { HintListener, type HintListenerHost } from './hint-listener.ts'
import type { Registration } from './registration.ts'
import { MailReader } from './mail-reader.ts'
import { hasNews } from '../../instance/next-after-turn.ts'
import type { Ownership } from './ownership.ts'
import type { LoopHeartbeat } from './loop-heartbeat.ts'
import type { StoreClock } from '../../core/store-clock.ts'
import { Ticker } from './ticker.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import type { ActivityPool } from '../activities/activity-pool.ts'

/** What the lookout works with. */
export interface WorkFinderHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  readonly heartbeat: LoopHeartbeat
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly registration: Registration
  readonly numbers: WorkflowNumbers
  readonly scheduler: InstanceScheduler
  readonly ownership: Ownership
  readonly activityPool: ActivityPool
  /** How many more instances may be worked on. */
  freeInstances(): number
  isClosing(): boolean
}

/** Finds out what there is to do for one runtime, and tells others what there is for them. */
export class WorkFinder {
  readonly claimer: Claimer
  readonly ticker: Ticker
  readonly mail: MailReader
  readonly hearing: HintListener
  readonly #host: WorkFinderHost
  readonly #dueAlarm = { ring: () => this.#claimDue() }

  constructor(host: WorkFinderHost) {
    const { store, clock, log, leaseMs, heartbeat, time, registration, numbers } = host
    const { scheduler, ownership, activityPool } = host
    const { instances } = scheduler
    const { tasks } = activityPool
    this.#host = host
    // What several of them need.
    const shared = {
      store,
      clock,
      log,
      runtimeNumber: () => registration.identity.runtime,
      workflowNumbers: () => numbers.registered,
      freeInstances: () => host.freeInstances(),
      owns: (iid: Iid) => instances.get(iid) !== undefined,
      sawTime: (ms: number, askedMs: number) => time.saw(ms, askedMs),
      onDead: (runtime: number) => registration.onDead(runtime),
      claimAt: (at: number) => this.claimAt(at),
      tasksAt: (at: number) => this.#tasksAt(at),
      taskInterest: () => tasks.interest,
      heldTasks: () => tasks.held(),
    }
    this.claimer = new Claimer({
      ...shared,
      claimIn: (ms) => this.claimAt(time.now() + ms),
      held: () => ownership.held(),
      dropLost: (held, owned) => ownership.dropLost(held, owned),
      takeOn: (runtime, claims) => {
        this.hearing.found(claims.length)
        return ownership.takeOn(runtime, claims)
      },
      passOn: (iids) => this.hearing.tell({ kind: 'due', iids }),
      readMail: (iids) => this.mail.look(iids),
    })
    this.ticker = new Ticker({
      ...shared,
      leaseMs,
      heartbeat,
      unknownActivities: () => scheduler.unknownActivities,
      stranded: (iids) => this.claimer.hint(iids),
      isIdle: () => !host.isClosing() && activityPool.slots.idle,
      lostTasks: (keys) => tasks.abort(keys),
      helpedWith: (activities) => activityPool.helpedWith(activities),
      onLapse: () => ownership.dropTaken(registration.identity.runtime),
      readMail: (iids) => this.mail.look(iids),
      compare: () => {
        this.claimer.beat()
        return ownership.dropLostOfSome(registration.identity.runtime)
      },
    })
    this.mail = new MailReader({
      clock,
      log,
      instance: (iid) => instances.get(iid),
      load: (wanted) => store.load(wanted),
      deliver: (instance, loaded) => {
        scheduler.deliver(instance, loaded)
        if (hasNews(instance)) this.hearing.found(1)
      },
      claim: (iids) => this.claimer.hint(iids),
    })
    const hearing: HintListenerHost = {
      ...shared,
      look: (iids) => this.mail.look(iids),
      claimWithRoom: (at) => {
        if (host.freeInstances() > 0) this.claimAt(at)
        // Claims as soon as there is room.
        else this.claimer.wake()
      },
      abortUnwanted: (keys) => abortUnwanted(store, registration.identity.runtime, tasks, keys),
      dropChanged: (iids) => ownership.dropChanged(registration.identity.runtime, iids),
      ask: async () => {
        const due = await this.ticker.ask()
        return !due.work && !due.tasks
      },
      tick: () => this.ticker.wake(),
    }
    this.hearing = new HintListener(hearing, store.hints)
  }

  workers(): Worker[] {
    return [this.claimer.work(), this.ticker.work(), this.mail.work()]
  }

  /** Begins to listen to other processes, and looks at what there is. */
  open(): void {
    this.hearing.open()
    this.ticker.wake()
  }

  /** The runtime has another number: others reach it under that, and it looks at what there is. */
  goOn(): void {
    this.hearing.refresh()
    this.ticker.wake()
    this.claimer.wake()
  }

  /** There is mail for these; of some it is known who owns them. */
  hint(targets: readonly Hint[]): void {
    const own = this.#host.registration.identity.runtime
    this.mail.look(
      targets.filter(({ owner }) => owner === null || owner === own).map(({ iid }) => iid),
    )
    this.hearing.tellMail(targets.map(({ iid }) => iid))
  }

  /** There may be mail for these, whoever owns them. */
  look(iids: readonly Iid[]): void {
    this.mail.look(iids)
    this.hearing.tellMail(iids)
  }

  /** There is something to be claimed at this moment of store time. */
  claimAt(at: number): void {
    if (!this.#host.isClosing()) this.#host.alarms.set(this.#dueAlarm, at)
  }

  #tasksAt(at: number): void {
    if (!this.#host.isClosing()) this.#host.activityPool.tasksAt(at)
  }

  /** Something has fallen due; others are asked where there is no room for it. */
  #claimDue(): void {
    this.claimer.wake()
    if (this.#host.freeInstances() <= 0) this.hearing.overflow()
  }
}
