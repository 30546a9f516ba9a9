// The ears and the mouth of a runtime: hints of other processes become calls of its parts, and what
// it does that concerns others is told to them.
//
//   E1. A hint is a reason to ask the store, never a fact: whatever it says, the store decides. Anybody
//       who may connect to a database can send one; what that may cost is bounded by the gate.
//   E2. A hint about an instance that is not owned here is a reason to claim it, never to ignore it.
//   E3. What one hint sets off never tells the same to somebody else without an end: who is full
//       asks everybody once in a while, and nobody passes that on.

import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type {
  NotifierHealth,
  Hint,
  HintInterest,
  HintStore,
  Listening,
  News,
} from '../../../store/hints.ts'
import type { Iid } from '../../../store/instances.ts'
import type { NewTask, TaskInterest, TaskKey } from '../../../store/tasks.ts'
import { RemoteNews } from '../../core/remote-changes.ts'
import { HintGate, type WorkHint } from './hint-gate.ts'
import { WaitersElsewhere } from './waiters-elsewhere.ts'

// How often a runtime without room asks all others to look.
const OVERFLOW_MS = 500

/** What this needs of its runtime. */
export interface HintListenerHost {
  readonly clock: Clock
  readonly log: Logger
  runtimeNumber(): number
  workflowNumbers(): readonly number[]
  taskInterest(): TaskInterest | null
  heldTasks(): HintInterest['held']
  freeInstances(): number
  owns(iid: Iid): boolean
  /** There may be mail for these, or something to claim. */
  look(iids: readonly Iid[]): void
  claimAt(at: number): void
  /** The same, but others know of it as well: nobody is asked to do it where there is no room. */
  claimWithRoom(at: number): void
  tasksAt(at: number): void
  /** Stops those of these tasks that the store says nobody waits for; answers how many. */
  abortUnwanted(keys: readonly TaskKey[]): Promise<number>
  /** Drops those of these copies that the store says are of no use any more; answers how many. */
  dropChanged(iids: readonly Iid[]): Promise<number>
  /** Asks the store for everything there is to do; answers whether there was nothing. */
  ask(): Promise<boolean>
  /** Has it asked as soon as the store answers again. */
  tick(): void
}

/** Hears and tells for one runtime. */
export class HintListener {
  /** Who waits in this process for instances of others. */
  readonly news: RemoteNews
  readonly #host: HintListenerHost
  readonly #hints: HintStore | undefined
  readonly #elsewhere: WaitersElsewhere
  readonly #gate: HintGate
  #listening: Listening | undefined
  #asking: Promise<boolean> | undefined
  #asksAgain = false
  #overflowMs = -Infinity

  /** Without `hints`, nothing is heard, and nothing told. */
  constructor(host: HintListenerHost, hints: HintStore | undefined) {
    const { clock } = host
    this.#host = host
    this.#hints = hints
    this.news = new RemoteNews({
      clock,
      tell: (news) => this.tell(news),
      hears: () => this.#listening?.hears === true,
    })
    this.#elsewhere = new WaitersElsewhere(clock, (news) => this.tell(news))
    this.#gate = new HintGate(clock, (hint) => this.#follow(hint))
  }

  /** Begins to listen. */
  open(): void {
    const host = this.#host
    const { clock, log } = host
    this.#listening = this.#hints?.listen({
      clock,
      log,
      interest: () => ({
        runtime: host.runtimeNumber(),
        // Asked for often, but for the number seldom read.
        get workflows() {
          return host.workflowNumbers()
        },
        get tasks() {
          return host.taskInterest()
        },
        get held() {
          return host.heldTasks()
        },
      }),
      hear: (hint) => this.#hear(hint),
      look: () => {
        if (this.#listening?.hears === true) this.news.heardAgain()
        return this.#ask()
      },
    })
  }

  /** The runtime has another number. */
  refresh(): void {
    this.#listening?.refresh()
  }

  /** How listening goes. */
  health(): NotifierHealth {
    return this.#listening?.health() ?? { state: 'off', interruptions: 0 }
  }

  /** What a hint may have led to brought so much. */
  found(count: number): void {
    this.#gate.found(count)
  }

  async close(): Promise<void> {
    this.news.close()
    this.#gate.close()
    await this.#listening?.close()
  }

  /** Tells other processes. */
  tell(news: News): void {
    const hasRoom = this.#host.freeInstances() > 0
    this.#hints?.tell(news, { runtime: this.#host.runtimeNumber(), hasRoom })
  }

  /** There is mail for these: for whoever owns those that are not here. */
  tellMail(iids: readonly Iid[]): void {
    const others = iids.filter((iid) => !this.#host.owns(iid))
    if (others.length > 0) this.tell({ kind: 'mail', iids: others })
  }

  /** These tasks were made. */
  tellTasks(tasks: readonly NewTask[]): void {
    const activities = tasks.map(({ activity, tag, session }) => ({
      activity,
      count: 1,
      pinned: tag !== '' || session !== '',
    }))
    this.tell({ kind: 'tasks', activities })
  }

  /** Something of this instance has changed that others may wait for. */
  changed(iid: Iid): void {
    this.news.changed(iid)
    if (this.#hints !== undefined) this.#elsewhere.changed(iid)
  }

  /** This instance has ended, which is its last change. */
  ended(iid: Iid): void {
    this.news.changed(iid)
    if (this.#hints !== undefined) this.#elsewhere.ended(iid)
  }

  /** There is work for which there is no room here. */
  overflow(): void {
    const { clock } = this.#host
    if (clock.now() - this.#overflowMs < OVERFLOW_MS) return
    this.#overflowMs = clock.now()
    this.tell({ kind: 'overflow' })
  }

  #hear(hint: Hint): void {
    this.news.hear(hint)
    switch (hint.kind) {
      case 'work':
      case 'tasks':
      case 'dropped':
      case 'recalled':
        if (this.#concerns(hint)) this.#gate.hear(hint)
        return
      case 'waiting':
        return this.#elsewhere.wait(hint.to, hint.iids)
      case 'changed':
      case 'joined':
    }
  }

  /** Whether it is about anything here, as far as can be told without asking. */
  #concerns(hint: WorkHint): boolean {
    const host = this.#host
    switch (hint.kind) {
      case 'work':
        return hint.iids.length === 0 || this.#couldHave(hint.iids)
      case 'tasks': {
        const own = host.taskInterest()?.activities ?? []
        const { activities } = hint
        return activities.length === 0 || activities.some((name) => own.includes(name))
      }
      case 'dropped':
        return host.heldTasks().some((held) => hint.tasks.some((task) => isSameTask(task, held)))
      case 'recalled':
        return hint.iids.some((iid) => host.owns(iid))
    }
  }

  #couldHave(iids: readonly Iid[]): boolean {
    return this.#host.workflowNumbers().length > 0 || iids.some((iid) => this.#host.owns(iid))
  }

  #follow(hint: WorkHint): void {
    const host = this.#host
    switch (hint.kind) {
      case 'work':
        return this.#hearOfWork(hint.iids, hint.at)
      case 'tasks':
        return host.tasksAt(hint.at)
      case 'dropped':
        return void this.#check(() => host.abortUnwanted(hint.tasks))
      case 'recalled':
        return void this.#check(() => host.dropChanged(hint.iids))
    }
  }

  /** Asks the store whether it is as a hint says. What cannot be asked now is found by the tick. */
  async #check(ask: () => Promise<number>): Promise<void> {
    try {
      this.found(await ask())
    } catch (error) {
      this.#host.log.debug({ err: error }, 'a hint could not be checked')
    }
  }

  #hearOfWork(iids: readonly Iid[], at: number): void {
    const host = this.#host
    if (at > 0) return iids.length > 0 ? host.claimAt(at) : host.claimWithRoom(at)
    if (iids.length === 0) return void this.#ask()
    host.look(iids)
    if (host.freeInstances() <= 0 && !iids.every((iid) => host.owns(iid))) this.overflow()
  }

  /** Asks the store; answers whether there was anything. However often it is wanted, one at a time. */
  async #ask(): Promise<boolean> {
    if (this.#asking !== undefined) {
      this.#asksAgain = true
      return this.#asking
    }
    this.#asking = this.#askOnce()
    try {
      return await this.#asking
    } finally {
      this.#asking = undefined
      if (this.#asksAgain) {
        this.#asksAgain = false
        void this.#ask()
      }
    }
  }

  async #askOnce(): Promise<boolean> {
    try {
      const found = !(await this.#host.ask())
      if (found) this.found(1)
      return found
    } catch (error) {
      this.#host.log.debug({ err: error }, 'the store could not be asked')
      this.#host.tick()
      return false
    }
  }
}

function isSameTask(a: TaskKey, b: TaskKey): boolean {
  return a.iid === b.iid && a.execution === b.execution && a.command === b.command
}
