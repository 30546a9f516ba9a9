// Leads copies through their lives: turn, commit, carry out, rest.
//
//   T1. Nothing that a turn decided is carried out before its commit was answered `done`: no
//       activity starts, no timer is set, no log line is written, no waiter is told.
//   T2. A copy whose item was refused is thrown away, whatever it has become since.
//   T3. A copy has at most one item at the committer.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Claim, Loaded } from '../../store/claims.ts'
import type { Next, TurnRow, Verdict } from '../../store/commits.ts'
import type { Ending, Iid } from '../../store/instances.ts'
import type { SharedPulse } from '../../store/lease.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { ContextHost } from '../context/make-context.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { Execution } from '../replay/execution.ts'
import { type Activities, LocalCall } from './activities.ts'
import { type ActivityWork, startByOf } from './activity-work.ts'
import type { Alarms } from './alarms.ts'
import { codeCaller } from './call-code.ts'
import { Carrier } from './carrier.ts'
import type { Committer } from './committer.ts'
import { type ContinueHost, nextCopy } from './continuing.ts'
import { Copies } from './copies.ts'
import { type Arrival, childrenLeft, type Copy, tasksOf, type TurnResult } from './copy.ts'
import { Departures, type DeparturesHost } from './departures.ts'
import { Endings } from './endings.ts'
import { ForgottenCalls } from './forgotten-calls.ts'
import { instanceKeys } from '../log-keys.ts'
import { logEnd, logSuspended } from './log-end.ts'
import { hasNews } from './next-at-rest.ts'
import type { Outgoing } from './outgoing.ts'
import { CAREFUL_DEATHS, MOST_DEATHS, PoisonError } from './poison.ts'
import { readCopy, takeInbox } from './read-copy.ts'
import { Resting } from './resting.ts'
import { Scribe, type ScribeHost } from './scribe.ts'
import { type AsideHost, setAside } from './set-aside.ts'
import type { Slots } from './slots.ts'
import type { NewInstance } from './start-item.ts'
import type { StoreClock } from './store-clock.ts'
import { type OthersHost, tellOthers } from './tell-others.ts'
import { Turner } from './turner.ts'
import { Turns } from './turns.ts'
import { awaitsMail, awaitsUnread, hasArrivals } from './unread.ts'

/** What the conductor works with. */
export interface ConductorSetup extends ContinueHost, OthersHost, DeparturesHost {
  readonly clock: Clock
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly pulse: SharedPulse
  readonly log: Logger
  readonly committer: Committer
  readonly context: ContextHost
  readonly store: Pick<WorkflowStore, 'history' | 'whereabouts'>
  /** Whether a forgotten `await` fails the workflow. */
  readonly failsForgotten: boolean
  /** Runs what turns asked for. */
  activities(): Activities
  /** Where activities wait for their turn. */
  slots(): Slots
  /** Carries out what turns asked of other instances. */
  outgoing(): Outgoing
  /** Whether there is little room for further instances. */
  crowded(): boolean
  /** Something is due at this moment of store time and nobody owns it. */
  claimAt(at: number): void
  /** Notes what is about to be done with an instance that owners died with; whether it may be. */
  aboutTo(copy: Copy, doing: string): Promise<boolean>
}

/** Leads the copies of one runtime. */
export class Conductor {
  readonly copies = new Copies()
  readonly endings = new Endings()
  readonly departures: Departures
  readonly turner: Turner
  readonly resting: Resting
  readonly #setup: ConductorSetup
  readonly #carrier: Carrier
  readonly #scribe: Scribe
  readonly #aside: AsideHost
  readonly #forgotten: ForgottenCalls
  #closing = false

  constructor(setup: ConductorSetup) {
    const { clock, time, log, values, committer } = setup
    const call = codeCaller(setup.context)
    const closing = (): boolean => this.#closing
    const recorded: ScribeHost['recorded'] = (...told) => this.#recorded(...told)
    this.#setup = setup
    const carrier = new Carrier({
      ...setup,
      serves: (tag) => setup.context.serves(tag),
      closing,
      arrive: (copy, arrivals) => this.arrive(copy, arrivals),
      turn: (copy) => this.turner.enqueue(copy),
      leaveToOthers: (copy, commands) => this.leaveToOthers(copy, commands),
      rest: (copy) => this.resting.releaseIfAtRest(copy),
    })
    const scribe = new Scribe({
      committer,
      workflowNumber: (definition) => setup.workflowNumber(definition),
      silence: (copy) => carrier.silence(copy),
      recorded,
    })
    const resting = new Resting({ time, crowded: () => setup.crowded(), closing }, carrier, scribe)
    const turns = new Turns({
      ...setup,
      call,
      scribe,
      resting,
      recorded,
      setAside: (copy, error) => this.#setAside(copy, error),
    })
    this.#carrier = carrier
    this.#scribe = scribe
    this.resting = resting
    this.departures = new Departures(setup, this.copies, this.endings, carrier)
    this.turner = new Turner({
      clock,
      log,
      turn: (copy) => turns.take(copy),
      turnsTaken: () => committer.flush(),
    })
    const execution = (copy: Copy): Execution => this.execution(copy.definition, copy.id)
    this.#forgotten = new ForgottenCalls({ ...setup, call, execution })
    this.#aside = {
      values,
      scribe,
      call,
      execution,
      silence: (copy) => carrier.silence(copy),
      drop: (copy, reason) => this.departures.drop(copy, reason),
      flush: () => committer.flush(),
    }
  }

  /** Activities that were called and whose code is not here. */
  get unknownActivities(): readonly string[] {
    return this.#carrier.unknownActivities
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
  begin(copy: Copy, start: NewInstance): void {
    this.#add(copy)
    this.#scribe.begins(copy, start)
    this.turner.enqueue(copy)
  }

  /** Goes on with an instance that was just claimed; `kept` when its copy is still good. */
  resume(
    claim: Claim,
    loaded: Loaded,
    definition: WorkflowDefinition,
    kept: Copy | undefined,
  ): void {
    const stale = this.copies.get(claim.iid)
    if (stale !== undefined) this.departures.drop(stale, 'it was claimed again')
    const copy = kept ?? this.#read(loaded, definition, claim.epoch)
    if (copy === undefined) return
    copy.epoch = claim.epoch
    copy.state = 'resting'
    copy.reopened = true
    copy.tasks = tasksOf(loaded)
    copy.careful = claim.attempts >= CAREFUL_DEATHS
    this.#add(copy)
    if (claim.attempts >= MOST_DEATHS) {
      return void this.#setAside(copy, new PoisonError(claim.attempts, claim.doing))
    }
    this.turner.enqueue(copy)
    this.#receive(copy, loaded)
  }

  #add(copy: Copy): void {
    this.copies.add(copy)
    copy.run.onBreak = () => {
      // Its next turn finds it broken, and sets it aside. One that was released has none now.
      if (copy.state === 'released') {
        this.#setup.log.error(
          { ...instanceKeys(copy), err: copy.run.broken },
          'instance will be suspended when it wakes',
        )
      }
      this.turner.enqueue(copy)
    }
  }

  /** What waits in its inbox arrives; an instance whose inbox cannot be read is set aside. */
  #receive(copy: Copy, { inbox, tasks }: Pick<Loaded, 'inbox' | 'tasks'>): void {
    try {
      copy.mailDue = false
      takeInbox(copy, inbox, tasks)
      if (hasNews(copy)) this.turner.enqueue(copy)
    } catch (error) {
      void this.#setAside(copy, error)
    }
  }

  /** Something arrived for an instance that is owned. */
  deliver(copy: Copy, loaded: Loaded): void {
    if (copy.state !== 'gone') {
      // Commands begin anew with each execution: tasks of the last one are none of this.
      const tasks = loaded.execution === copy.generation ? loaded.tasks : []
      this.#receive(copy, { inbox: loaded.inbox, tasks })
      this.#seeTasks(copy, tasks)
    }
    if (copy.state === 'released' && hasNews(copy)) this.#setup.look([copy.iid])
  }

  /** What nobody has begun in time fails. The store does not hand it out any more by then. */
  #seeTasks(copy: Copy, tasks: Loaded['tasks']): void {
    const now = this.#setup.time.now()
    for (const task of tasks) {
      const given = copy.run.open.get(task.command)
      if (given === undefined || !copy.tasks?.has(task.command)) continue
      copy.tasks.set(task.command, task)
      const work = given.work as ActivityWork
      if (task.held || task.attempts > 0 || startByOf(work) > now) continue
      this.#carrier.notStarted(copy, task.command, work)
    }
  }

  /** Whether no copy runs, waits for a turn, or is being committed. */
  isQuiet(): boolean {
    for (const copy of this.copies) {
      if (copy.state !== 'resting' || copy.running.size > 0) return false
      if (hasNews(copy) || awaitsMail(copy)) return false
    }
    return true
  }

  /** Activities of a copy that do not run here, or wait for a slot, are left to other runtimes. */
  leaveToOthers(copy: Copy, commands: readonly number[]): void {
    if (copy.state === 'gone' || copy.state === 'released') return
    for (const command of commands) {
      copy.running.delete(command)
      ;(copy.newTasks ??= new Set()).add(command)
    }
    if (copy.state !== 'resting') return
    this.#scribe.tasks(copy)
  }

  /** Puts arrivals before a copy and lets it have a turn. */
  arrive(copy: Copy, arrivals: readonly Arrival[]): void {
    if (copy.state === 'gone' || arrivals.length === 0) return
    for (const arrival of arrivals) copy.arrivals.push(arrival)
    // What is put off is taken up when the messages before it are read.
    if (hasArrivals(copy)) this.turner.enqueue(copy)
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(copy: Copy, command: number, attempt: number, delayMs: number, error: string): void {
    this.#carrier.retryAfter(copy, command, attempt, delayMs, error)
  }

  /** Something that it asked of others is not done here any more: that keeps it no longer. */
  gaveUp(copy: Copy): void {
    this.resting.releaseIfAtRest(copy)
    this.#setup.committer.flush()
  }

  /** Nothing new begins; instances are released as soon as nothing of them runs here. */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    for (const call of this.#setup.slots().close()) {
      if (call instanceof LocalCall && call.wanted) call.copy.running.delete(call.command)
    }
    for (const copy of this.copies) this.resting.releaseIfAtRest(copy)
    this.#setup.committer.flush()
    await this.departures.untilAllLeft(this.#setup.clock, drainMs)
    for (const copy of this.copies) this.departures.drop(copy, 'the runtime is closing')
    this.copies.forgetReleased()
  }

  #recorded(
    copy: Copy,
    turn: TurnRow | null,
    next: Next,
    result: TurnResult,
    verdict: Verdict | Error,
  ): void {
    if (verdict === 'refused') this.departures.handOver(copy, result)
    if (copy.state === 'gone') return
    if (verdict instanceof Error) return this.#notStored(copy, next, verdict)
    if (verdict !== 'done') return this.departures.drop(copy, 'another runtime has taken over')
    const isNew = copy.turn === 0
    copy.state = 'resting'
    if (turn !== null) {
      copy.turn = turn.turn
      copy.turnAt = turn.at
      copy.seq = turn.first + turn.count - 1
      this.departures.noLongerCareful(copy)
      this.copies.grow(copy, turn.events.length)
      if (copy.alarms.size > 0) this.#carrier.forgetLimits(copy)
    }
    copy.known.deleted(result.taken)
    for (const line of copy.lines) line()
    copy.lines = []
    tellOthers(this.#setup, this.#carrier, copy, result)
    switch (next.kind) {
      case 'end':
        return this.#ended(copy, next.end)
      case 'continue':
        this.#continued(copy, next.started, next.keep)
        return this.#setup.changed(copy.iid)
      case 'hold':
        logSuspended(this.#setup.log, instanceKeys(copy), this.#setup.values.error(next.report))
        // Or what came to an end here would be done again when it is resumed.
        this.departures.keepResults(copy)
        this.departures.drop(copy, 'it was set aside')
        return this.#setup.changed(copy.iid)
      case 'release':
        return this.#released(copy, next.wakeAt)
      case 'keep':
        if (isNew) copy.mailDue = this.#mayHaveMail(copy)
        for (const given of result.given) this.#carrier.carryOut(copy, given)
        this.#carrier.watchCleanUp(copy)
        if ((isNew && copy.mailDue) || awaitsUnread(copy)) this.#setup.look([copy.iid])
        if (this.#scribe.tasks(copy)) return
        if (hasNews(copy)) this.turner.enqueue(copy)
        else this.resting.releaseIfAtRest(copy)
    }
  }

  /** Whether something was sent along with the start, or may have come meanwhile. */
  #mayHaveMail(copy: Copy): boolean {
    return copy.hasMail || copy.parent !== null || this.#scribe.wasSentMail(copy)
  }

  /** Goes on with the next execution of an instance. */
  #continued(copy: Copy, started: TurnRow, keep: boolean): void {
    this.#forgotten.report(copy)
    this.departures.leave(copy, 'its next execution has begun')
    if (!keep) {
      this.endings.tell(copy.iid, undefined)
      // Claimed by whoever has its version.
      return this.#setup.look([copy.iid])
    }
    const next = nextCopy(copy, started, this.#setup, (...given) => this.execution(...given))
    this.#add(next)
    this.turner.enqueue(next)
    // What was read for the last execution may have been meant for this one.
    this.#setup.look([copy.iid])
  }

  /** A child was started, or found to run; what it has to say comes by mail. */
  startedChild(copy: Copy, command: number, child: Iid): void {
    copy.running.delete(command)
    copy.children.set(command, child)
    if (copy.state === 'gone') return
    // The code has ended: all that was left to do was to start it.
    if (childrenLeft(copy).length > 0) return this.turner.enqueue(copy)
    // After a takeover the result may have come while nobody looked.
    this.#setup.look([copy.iid])
    this.resting.releaseIfAtRest(copy)
  }

  #released(copy: Copy, wakeAt: number | null): void {
    this.departures.release(copy)
    if (this.#closing) return
    // What came while it was being released is found by whoever claims it.
    if (hasNews(copy)) this.#setup.look([copy.iid])
    if (wakeAt !== null) this.#setup.claimAt(wakeAt)
  }

  #ended(copy: Copy, end: Ending): void {
    logEnd(this.#setup.log, this.#setup.values, copy, end)
    this.#forgotten.report(copy)
    this.departures.leave(copy, 'the workflow has ended')
    this.endings.tell(copy.iid, end)
    this.#setup.ended(copy.iid)
    if (copy.parent !== null && copy.parent.onClose !== 'independent') {
      this.#setup.look([copy.parent.iid])
    }
  }

  /** The store cannot take this item, and it is this one's fault alone. */
  #notStored(copy: Copy, next: Next, error: Error): void {
    if (copy.turn === 0) return this.departures.drop(copy, 'its start could not be stored')
    // The tick finds it owned and unknown, and it is read again.
    if (next.kind === 'hold') {
      const keys = { ...instanceKeys(copy), err: error }
      this.#setup.log.warn(keys, 'instance could not be suspended; retrying')
      return this.departures.drop(copy, 'it could not be suspended')
    }
    void this.#setAside(copy, error)
  }

  #setAside(copy: Copy, error: unknown): Promise<void> {
    return setAside(this.#aside, copy, error)
  }

  #read(loaded: Loaded, definition: WorkflowDefinition, epoch: number): Copy | undefined {
    const run = this.execution(definition, loaded.id)
    const read = readCopy(loaded, definition, run)
    if (read.error === undefined) return read.copy
    read.copy.epoch = epoch
    this.copies.add(read.copy)
    void this.#setAside(read.copy, read.error)
    return undefined
  }
}
