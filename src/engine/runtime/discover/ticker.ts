import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { notify } from '../../../base/sync/notify.ts'
import type { Iid } from '../../../store/instances.ts'
import type { UndeliveredMessages } from '../../../store/runtimes.ts'
import type { TaskInterest, TaskKey } from '../../../store/tasks.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { type Directive, idle } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { LoopHeartbeat } from './loop-heartbeat.ts'

const TICK_MS = 10_000
// Further apart than this, the calendar and the process's clock have not seen the same time pass.
const MAX_DISAGREEMENT_MS = 1_000

/** What the ticker needs of its runtime. */
export interface TickHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  readonly heartbeat: Pick<LoopHeartbeat, 'renewed' | 'isKept'>
  runtimeNumber(): number
  workflowNumbers(): readonly number[]
  /** What it runs of the store's tasks. */
  taskInterest(): TaskInterest | null
  /** Activities that its workflows call and that it has no code for. */
  unknownActivities(): readonly string[]
  /** Instances that wait for activities whose code may turn out to be here. */
  stranded(iids: readonly Iid[]): void
  heldTasks(): readonly (TaskKey & { readonly attempt: number })[]
  /** Whether it has room for more, and little to do. */
  isIdle(): boolean
  /** These attempts are not wanted any more, or are somebody else's. */
  lostTasks(keys: readonly (TaskKey & { readonly attempt: number })[]): void
  /** There are tasks to be had, now or at a moment of store time. */
  tasksAt(at: number): void
  /** Another runtime is idle that could run these activities. */
  helpedWith(activities: readonly string[]): void
  /** An answer carried the store's time; it was asked for at `askedMs` of the process's clock. */
  sawTime(ms: number, askedMs: number): void
  onDead(runtime: number): Promise<void>
  /** The lease had ended, and nobody took over: drops copies that are not owned any more. */
  onLapse(): Promise<void>
  /** Instances that are owned have messages. */
  readMail(iids: readonly Iid[]): void
  /** There is work to be claimed, now or at a moment of store time. */
  claimAt(at: number): void
  /** Once for each renewal: compares what is owned here with what the store says. */
  compare(): Promise<void>
}

/** What a tick found for this runtime. */
export interface Due {
  /** Messages, or instances to be claimed. */
  readonly work: boolean
  /** Tasks, which limits and sessions may hold back all the same. */
  readonly tasks: boolean
}

/** What somebody who has to begin anew may find. */
const EVERYTHING: Due = { work: true, tasks: true }

/** Renews the lease and asks what any lost hint would have told. */
export class Ticker {
  readonly #host: TickHost
  readonly #wake = notify()
  readonly #renewed = notify()
  #renewedMs: number
  /** What the calendar showed then. */
  #renewedDateMs: number
  readonly #everyMs: number
  #mustRenew = false
  #undelivered: UndeliveredMessages = { late: 0, early: 0 }

  constructor(host: TickHost) {
    this.#host = host
    this.#renewedMs = host.clock.now()
    this.#renewedDateMs = host.clock.date().getTime()
    this.#everyMs = Math.max(1, Math.min(TICK_MS, host.leaseMs / 3))
  }

  /** Messages that its ticks have removed so far, because nobody will receive them. */
  get undelivered(): UndeliveredMessages {
    return this.#undelivered
  }

  /** Ticks now instead of at the next beat. */
  wake(): void {
    this.#wake.notifyOne()
  }

  /** Renews the lease now, however short ago that was done: the store notes its clock with it. */
  renew(): void {
    this.#mustRenew = true
    this.wake()
  }

  /**
   * The lease was taken or renewed by a call that began at `ms` of the process's clock, when the
   * calendar showed `dateMs`. It is not reckoned from what it shows now: the machine may have been
   * suspended while the answer was on its way.
   */
  renewedAt(ms: number, dateMs: number): void {
    const { clock, heartbeat } = this.#host
    this.#renewedMs = ms
    this.#renewedDateMs = dateMs
    heartbeat.renewed(clock.now() - ms)
    this.#renewed.notifyAll()
  }

  /** Undefined while the lease certainly holds; otherwise resolves when it does again. */
  leaseHolds(): Promise<void> | undefined {
    return this.#holds() ? undefined : this.#untilItHolds()
  }

  #holds(): boolean {
    const { clock, leaseMs, heartbeat } = this.#host
    if (this.#mayHaveBeenSuspended()) return false
    return clock.now() - this.#renewedMs <= leaseMs || heartbeat.isKept
  }

  /**
   * The process's clock stands still while its machine is suspended, and so does that of the thread.
   * The calendar goes on. Where the two disagree, somebody may also have set the calendar; nobody can
   * tell, so the store is asked.
   */
  #mayHaveBeenSuspended(): boolean {
    const { clock, leaseMs } = this.#host
    const passedMs = clock.now() - this.#renewedMs
    const shownMs = clock.date().getTime() - this.#renewedDateMs
    return Math.abs(shownMs - passedMs) > Math.min(MAX_DISAGREEMENT_MS, leaseMs / 10)
  }

  async #untilItHolds(): Promise<void> {
    // The answer to a tick from before the process was frozen renews nothing.
    do {
      this.wake()
      await this.#renewed.wait()
    } while (!this.#holds())
  }

  work(): Worker {
    const { clock, log, leaseMs } = this.#host
    const every = this.#everyMs
    const backoff = { initial: 100, max: Math.max(100, Math.min(2_000, leaseMs / 4)) }
    return worker('ticks', { wakeOn: [this.#wake], every, clock, log, backoff }, () => this.#pass())
  }

  async #pass(): Promise<Directive> {
    await this.ask()
    return idle()
  }

  /** Renews the lease if it is time to, takes up what there is to do, and answers what that is. */
  async ask(): Promise<Due> {
    const host = this.#host
    const isTime = host.clock.now() - this.#renewedMs >= this.#everyMs / 2
    const renews = isTime || this.#mustRenew || !this.#holds()
    // By itself, and first: whatever becomes of the rest, the lease is renewed.
    if (renews && !(await this.#renew())) return EVERYTHING
    const begunMs = host.clock.now()
    const runtime = host.runtimeNumber()
    const held = host.heldTasks()
    const answer = await host.store.tick({
      runtime,
      workflows: host.workflowNumbers(),
      tasks: host.taskInterest(),
      unknown: host.unknownActivities(),
      held,
      idle: host.isIdle(),
    })
    host.sawTime(answer.clock, begunMs)
    if (answer.state === 'dead') {
      await host.onDead(runtime)
      return EVERYTHING
    }
    if (answer.mail.length > 0) host.readMail(answer.mail)
    if (answer.claimable) host.claimAt(answer.clock)
    else if (answer.nextDue !== null) host.claimAt(answer.nextDue)
    const lost = held.filter((_, i) => !answer.wanted[i])
    if (lost.length > 0) host.lostTasks(lost)
    if (answer.nextTask !== null) host.tasksAt(answer.nextTask)
    host.helpedWith(answer.helped)
    if (answer.stranded.length > 0) host.stranded(answer.stranded)
    this.#count(answer.undelivered)
    if (renews) await host.compare()
    return {
      work: answer.mail.length > 0 || answer.claimable,
      tasks: answer.nextTask !== null && answer.nextTask <= answer.clock,
    }
  }

  /** Whether this runtime is alive, and has its lease. */
  async #renew(): Promise<boolean> {
    const host = this.#host
    const begunMs = host.clock.now()
    const begunDateMs = host.clock.date().getTime()
    const runtime = host.runtimeNumber()
    const { state, clock } = await host.store.renewLease(runtime, host.leaseMs)
    this.#mustRenew = false
    host.sawTime(clock, begunMs)
    if (state === 'dead') {
      await host.onDead(runtime)
      return false
    }
    // Others may have set instances aside and taken them over while this process stood still.
    if (!this.#holds()) await host.onLapse()
    this.renewedAt(begunMs, begunDateMs)
    return true
  }

  #count({ late, early }: UndeliveredMessages): void {
    const { log } = this.#host
    if (late > 0) log.warn({ messages: late }, 'messages came after the end of their instance')
    if (early > 0)
      log.warn({ messages: early }, 'messages expired: their instance was never started')
    this.#undelivered = {
      late: this.#undelivered.late + late,
      early: this.#undelivered.early + early,
    }
  }
}
