// Everything by which a runtime finds out what there is for it to do: ticks, claims, mail, and hints
// of other processes. Each leads to the others: a tick to mail and to claims, mail for what is not
// owned here to a claim, a claim to a tick, a hint to any of them.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { Worker } from '../../workers/worker.ts'
import type { Hint } from '../client/client-setup.ts'
import { abortUnwanted } from './abort-unwanted.ts'
import type { Alarms } from './alarms.ts'
import { Claimer } from './claimer.ts'
import type { Conductor } from './conductor.ts'
import { Hearing, type HearingHost } from './hearing.ts'
import type { Life } from './life.ts'
import { MailReader } from './mail-reader.ts'
import { hasNews } from './next-at-rest.ts'
import type { Ownership } from './ownership.ts'
import type { Pulse } from './pulse.ts'
import type { StoreClock } from './store-clock.ts'
import { Ticker } from './ticker.ts'
import type { WorkflowNumbers } from './workflow-numbers.ts'
import type { Workforce } from './workforce.ts'

/** What the lookout works with. */
export interface LookoutHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  readonly pulse: Pulse
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly life: Life
  readonly numbers: WorkflowNumbers
  readonly conductor: Conductor
  readonly ownership: Ownership
  readonly workforce: Workforce
  /** How many more instances may be worked on. */
  freeInstances(): number
  isClosing(): boolean
}

/** Finds out what there is to do for one runtime, and tells others what there is for them. */
export class Lookout {
  readonly claimer: Claimer
  readonly ticker: Ticker
  readonly mail: MailReader
  readonly hearing: Hearing
  readonly #host: LookoutHost
  readonly #dueAlarm = { ring: () => this.#claimDue() }

  constructor(host: LookoutHost) {
    const { store, clock, log, leaseMs, pulse, time, life, numbers } = host
    const { conductor, ownership, workforce } = host
    const { copies } = conductor
    const { tasks } = workforce
    this.#host = host
    // What several of them need.
    const shared = {
      store,
      clock,
      log,
      runtimeNumber: () => life.identity.runtime,
      workflowNumbers: () => numbers.registered,
      freeInstances: () => host.freeInstances(),
      owns: (iid: Iid) => copies.get(iid) !== undefined,
      sawTime: (ms: number, askedMs: number) => time.saw(ms, askedMs),
      onDead: (runtime: number) => life.onDead(runtime),
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
    })
    this.ticker = new Ticker({
      ...shared,
      leaseMs,
      pulse,
      unknownActivities: () => conductor.unknownActivities,
      stranded: (iids) => this.claimer.hint(iids),
      isIdle: () => !host.isClosing() && workforce.slots.idle,
      lostTasks: (keys) => tasks.abort(keys),
      helpedWith: (activities) => workforce.helpedWith(activities),
      onLapse: () => ownership.dropTaken(life.identity.runtime),
      readMail: (iids) => this.mail.look(iids),
      compare: () => {
        this.claimer.beat()
        return ownership.dropLostOfSome(life.identity.runtime)
      },
    })
    this.mail = new MailReader({
      clock,
      log,
      copy: (iid) => copies.get(iid),
      load: (wanted) => store.load(wanted),
      deliver: (copy, loaded) => {
        conductor.deliver(copy, loaded)
        if (hasNews(copy)) this.hearing.found(1)
      },
      claim: (iids) => this.claimer.hint(iids),
    })
    const hearing: HearingHost = {
      ...shared,
      look: (iids) => this.mail.look(iids),
      claimWithRoom: (at) => {
        if (host.freeInstances() > 0) this.claimAt(at)
        // Claims as soon as there is room.
        else this.claimer.wake()
      },
      abortUnwanted: (keys) => abortUnwanted(store, life.identity.runtime, tasks, keys),
      dropChanged: (iids) => ownership.dropChanged(life.identity.runtime, iids),
      ask: async () => {
        const due = await this.ticker.ask()
        return !due.work && !due.tasks
      },
      tick: () => this.ticker.wake(),
    }
    this.hearing = new Hearing(hearing, store.hints)
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
    const own = this.#host.life.identity.runtime
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
    if (!this.#host.isClosing()) this.#host.workforce.tasksAt(at)
  }

  /** Something has fallen due; others are asked where there is no room for it. */
  #claimDue(): void {
    this.claimer.wake()
    if (this.#host.freeInstances() <= 0) this.hearing.overflow()
  }
}
