// Leads copies through their lives: turn, commit, carry out, rest.
//
//   T1. Nothing that a turn decided is carried out before its commit was answered `done`: no
//       activity starts, no timer is set, no log line is written, no waiter is told.
//   T2. A copy whose item was refused is thrown away, whatever it has become since.
//   T3. A copy has at most one item at the committer.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { notify } from '../../base/notify.ts'
import type { SharedPulse } from '../../store/lease.ts'
import { StoreError } from '../../store/store-error.ts'
import type { NewTask, TaskKey } from '../../store/tasks.ts'
import type {
  Claim,
  Delivery,
  Ending,
  Iid,
  Loaded,
  Next,
  TurnRow,
  Verdict,
} from '../../store/workflow-store.ts'
import type { ContextHost } from '../context/make-context.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { Execution, type Outcome } from '../replay/execution.ts'
import type { Pausing } from '../replay/turn.ts'
import { type Activities, LocalCall } from './activities.ts'
import { type ActivityWork, startByOf } from './activity-work.ts'
import type { Alarms } from './alarms.ts'
import { codeCaller } from './call-code.ts'
import { Carrier } from './carrier.ts'
import { NO_EFFECTS } from './collect-effects.ts'
import type { Committer } from './committer.ts'
import { type ContinueHost, nextCopy, nextExecution } from './continuing.ts'
import { Copies } from './copies.ts'
import { type Arrival, type Copy, tasksOf, type TurnResult } from './copy.ts'
import { Endings } from './endings.ts'
import { finishedResults } from './hand-over.ts'
import { expectsMail, hasNews, nextAtRest, REST_MS } from './next-at-rest.ts'
import type { Outgoing } from './outgoing.ts'
import { calledOffBeforeItRan, readCopy, takeInbox } from './read-copy.ts'
import { NOTHING, Scribe } from './scribe.ts'
import { type AsideHost, setAside } from './set-aside.ts'
import { CAREFUL_DEATHS, MOST_DEATHS, PoisonError } from './poison.ts'
import type { Slots } from './slots.ts'
import type { NewInstance } from './start-item.ts'
import type { StoreClock } from './store-clock.ts'
import { type Begin, takeTurn } from './take-turn.ts'
import { Turner } from './turner.ts'
import { endAtOnce, endOf, finalError, startedEvent, turnRow } from './turn-row.ts'

// The alarm of an instance that belongs to no command.
const REST = -1

/** What the conductor works with. */
export interface ConductorSetup extends ContinueHost {
  readonly clock: Clock
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly pulse: SharedPulse
  readonly log: Logger
  readonly committer: Committer
  readonly context: ContextHost
  /** Runs what turns asked for. */
  activities(): Activities
  /** Where activities wait for their turn. */
  slots(): Slots
  /** Carries out what turns asked of other instances. */
  outgoing(): Outgoing
  /** Whether there is little room for further instances. */
  crowded(): boolean
  /** There is, or may be, mail for these instances. */
  look(iids: readonly Iid[]): void
  /** Something of an instance has changed that is waited for, perhaps in other processes. */
  changed(iid: Iid): void
  /** Requests were answered. */
  replied(to: readonly string[]): void
  /** Hands results over that an owner who lost the instance still has. */
  handOver(deliveries: readonly Delivery[]): void
  /** Something is due at this moment of store time and nobody owns it. */
  claimAt(at: number): void
  /** An instance is no longer owned here. */
  left(): void
  /** Notes what is about to be done with an instance that owners died with; whether it may be. */
  aboutTo(copy: Copy, doing: string): Promise<boolean>
  /** What owners died with comes one at a time, and this one is over. */
  carefulOver(): void
  /** There are new tasks in the store. */
  tasksMade(tasks: readonly NewTask[]): void
  /** These tasks are not wanted any more. */
  tasksDropped(keys: readonly TaskKey[]): void
}

/** Leads the copies of one runtime. */
export class Conductor {
  readonly copies = new Copies()
  readonly endings = new Endings()
  readonly turner: Turner
  readonly #setup: ConductorSetup
  readonly #carrier: Carrier
  readonly #scribe: Scribe
  readonly #call: Begin
  readonly #left = notify()
  #closing = false

  constructor(setup: ConductorSetup) {
    const { clock, log, committer } = setup
    this.#setup = setup
    this.#call = codeCaller(setup.context)
    this.#carrier = new Carrier({
      ...setup,
      serves: (tag) => setup.context.serves(tag),
      closing: () => this.#closing,
      arrive: (copy, arrivals) => this.arrive(copy, arrivals),
      turn: (copy) => this.turner.enqueue(copy),
      leaveToOthers: (copy, commands) => this.leaveToOthers(copy, commands),
      rest: (copy) => this.rest(copy),
    })
    this.#scribe = new Scribe({
      committer,
      workflowNumber: (definition) => setup.workflowNumber(definition),
      silence: (copy) => this.#carrier.silence(copy),
      recorded: (...told) => this.#recorded(...told),
    })
    this.turner = new Turner({
      clock,
      log,
      turn: (copy) => this.#turn(copy),
      turnsTaken: () => committer.flush(),
    })
  }

  /** Activities that were called and whose code is not here. */
  get unknownActivities(): readonly string[] {
    return this.#carrier.unknownActivities
  }

  /** An execution for an instance. */
  execution(definition: WorkflowDefinition, id: string): Execution {
    const label = `instance "${id}" of workflow "${definition.name}" ${definition.version}`
    return new Execution(label, this.#setup.values)
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
    if (stale !== undefined) this.drop(stale, 'it was claimed again')
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
          { id: copy.id, workflow: copy.definition.name, err: copy.run.broken },
          'instance will be set aside when it wakes',
        )
      }
      this.turner.enqueue(copy)
    }
  }

  /** What waits in its inbox arrives; an instance whose inbox cannot be read is set aside. */
  #receive(copy: Copy, { inbox, tasks }: Pick<Loaded, 'inbox' | 'tasks'>): void {
    try {
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

  /** A copy may have nothing to do here for a while. */
  rest(copy: Copy): void {
    this.#releaseIfAtRest(copy)
  }

  /** Whether no copy runs, waits for a turn, or is being committed. */
  isQuiet(): boolean {
    for (const copy of this.copies) {
      if (copy.state !== 'resting' || copy.running.size > 0 || hasNews(copy)) return false
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
    this.turner.enqueue(copy)
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(copy: Copy, command: number, attempt: number, delayMs: number, error: string): void {
    this.#carrier.retryAfter(copy, command, attempt, delayMs, error)
  }

  /** The instance was changed from outside, or taken over: whatever this copy sends is refused. */
  recall(copy: Copy, reason = 'it was changed from outside'): void {
    if (copy.isSetBack) return
    this.#handOver(copy, NOTHING)
    this.drop(copy, reason)
  }

  /** The store may have lost what this copy is about. */
  setBack(copy: Copy, reason: string): void {
    copy.isSetBack = true
    copy.arrivals = []
    this.drop(copy, reason)
  }

  #handOver(copy: Copy, result: TurnResult): void {
    if (copy.isSetBack) return
    copy.overruled = true
    const finished = finishedResults(copy, result)
    copy.arrivals = []
    if (finished.length > 0) this.#setup.handOver(finished)
  }

  /** Throws a copy away. What it stands for is somebody else's, or will be read again. */
  drop(copy: Copy, reason: string): void {
    copy.onStarted?.(new StoreError('closed', 'start', reason))
    this.#leave(copy, reason)
    this.endings.tell(copy.iid, undefined)
  }

  /** Nothing new begins; instances are released as soon as nothing of them runs here. */
  async close(drainMs: number): Promise<void> {
    const { clock, committer } = this.#setup
    this.#closing = true
    for (const call of this.#setup.slots().close()) {
      if (call instanceof LocalCall && call.wanted) call.copy.running.delete(call.command)
    }
    for (const copy of this.copies) this.#releaseIfAtRest(copy)
    committer.flush()
    let late = false
    const timer = clock.after(drainMs, () => {
      late = true
      this.#left.notifyOne()
    })
    while (this.copies.owned > 0 && !late) await this.#left.wait()
    timer.cancel()
    for (const copy of this.copies) this.drop(copy, 'the runtime is closing')
    this.copies.forgetReleased()
  }

  *#turn(copy: Copy): Pausing<void> {
    const { time, values, pulse } = this.#setup
    copy.stop ??= calledOffBeforeItRan(copy)
    if (copy.stop !== undefined) return this.#stop(copy)
    if (copy.careful) {
      let may = false
      yield this.#setup.aboutTo(copy, 'its own code').then((answer) => (may = answer))
      if (!may || copy.state !== 'ready') return
    }
    let result: TurnResult
    try {
      result = yield* takeTurn(copy, time.now(), this.#call, pulse)
    } catch (error) {
      yield this.#setAside(copy, error)
      return
    }
    if (copy.state !== 'ready') return
    copy.state = 'committing'
    const end = endOf(copy, values)
    if (end !== undefined) return this.#commitEnd(copy, end, result)
    const { outcome } = copy.run
    if (outcome?.kind === 'continued' && copy.run.open.size === 0) {
      // Not waited for: it may need turns of others.
      return void this.#continue(copy, outcome, result)
    }
    this.#scribe.turn(copy, turnRow(copy, result.events), this.#atRest(copy, false), result)
  }

  /** The instance ends without its code being asked. */
  #stop(copy: Copy): void {
    const { values } = this.#setup
    const { status, reason, inboxId } = copy.stop!
    copy.state = 'committing'
    copy.at = Math.max(copy.at, this.#setup.time.now())
    const events = copy.turn === 0 ? [startedEvent(copy)] : []
    const taken = inboxId === undefined ? [] : [inboxId]
    const dropped = [...copy.run.open.keys()]
    const effects = { ...NO_EFFECTS, closes: 'all' as const }
    const end = endAtOnce(copy, { status, reason }, values)
    this.#commitEnd(copy, end, { ...NOTHING, events, taken, dropped, effects })
  }

  #commitEnd(copy: Copy, end: Ending, result: TurnResult): void {
    const events = [...result.events, { type: 'ended', status: end.status } as const]
    this.#scribe.turn(copy, turnRow(copy, events), { kind: 'end', end }, result)
  }

  /** The execution is over and the next one begins, in the same item. */
  async #continue(
    copy: Copy,
    outcome: Extract<Outcome, { kind: 'continued' }>,
    result: TurnResult,
  ): Promise<void> {
    if (copy.turn === 0) {
      // It has to be there before it can go on.
      const [first, ...events] = result.events
      const row = turnRow(copy, [first!])!
      return this.#scribe.start(copy, row, { kind: 'keep' }, NOTHING, (verdict) => {
        if (verdict !== 'done') return this.#recorded(copy, row, { kind: 'keep' }, NOTHING, verdict)
        copy.turn = copy.seq = 1
        void this.#continue(copy, outcome, { ...result, events })
        this.#setup.committer.flush()
      })
    }
    const { values, committer } = this.#setup
    let next: Next
    try {
      next = await nextExecution(copy, outcome, this.#setup)
    } catch (error) {
      if (error instanceof StoreError) return await this.#setAside(copy, error)
      const output = values.encodeError(finalError(copy, error))
      return this.#commitEnd(copy, { status: 'failed', output }, result)
    } finally {
      // Others may have gone ahead meanwhile.
      queueMicrotask(() => committer.flush())
    }
    if (copy.state !== 'committing') return
    const events = [...result.events, { type: 'ended', status: 'continued' } as const]
    this.#scribe.turn(copy, turnRow(copy, events), next, result)
  }

  #recorded(
    copy: Copy,
    turn: TurnRow | null,
    next: Next,
    result: TurnResult,
    verdict: Verdict | Error,
  ): void {
    if (verdict === 'refused') this.#handOver(copy, result)
    if (copy.state === 'gone') return
    if (verdict instanceof Error) return this.#notStored(copy, next, verdict)
    if (verdict !== 'done') return this.drop(copy, 'another runtime has taken over')
    const isNew = copy.turn === 0
    copy.state = 'resting'
    if (turn !== null) {
      copy.turn = turn.turn
      copy.seq = turn.first + turn.count - 1
      this.#notCareful(copy)
      this.copies.grow(copy, turn.events.length)
      if (copy.alarms.size > 0) this.#carrier.forgetLimits(copy)
    }
    copy.known.deleted(result.taken)
    for (const line of copy.lines) line()
    copy.lines = []
    this.#tellOthers(copy, result)
    switch (next.kind) {
      case 'end':
        return this.#ended(copy, next.end)
      case 'continue':
        return this.#continued(copy, next.started, next.keep)
      case 'hold':
        return this.drop(copy, 'it was set aside')
      case 'release':
        return this.#released(copy, next.wakeAt)
      case 'keep':
        for (const given of result.given) this.#carrier.carryOut(copy, given)
        this.#carrier.watchCleanUp(copy)
        if (isNew && this.#mayHaveMail(copy)) this.#setup.look([copy.iid])
        if (this.#scribe.tasks(copy)) return
        if (hasNews(copy)) this.turner.enqueue(copy)
        else this.#releaseIfAtRest(copy)
    }
  }

  /** Whether something was sent along with the start, or may have come meanwhile. */
  #mayHaveMail(copy: Copy): boolean {
    return copy.hasMail || copy.parent !== null || this.#scribe.wasSentMail(copy)
  }

  /** What the turn meant for others here: attempts that are not wanted, children, those who asked. */
  #tellOthers(copy: Copy, { dropped, effects }: TurnResult): void {
    const children: Iid[] = []
    for (const command of dropped) {
      copy.running.get(command)?.abort('its result is not wanted any more')
      copy.running.delete(command)
      copy.attempts.delete(command)
      this.#carrier.cancelAlarm(copy, command)
      const child = copy.children.get(command)
      if (child !== undefined) children.push(child)
    }
    if (effects === null) return
    if (effects.closes === 'all') children.push(...copy.children.values())
    if (children.length > 0) this.#setup.look(children)
    if (effects.tasks.length > 0) {
      this.#setup.tasksMade(effects.tasks)
    }
    if (effects.dropsTasks.length > 0) {
      const { iid, generation: execution } = copy
      this.#setup.tasksDropped(effects.dropsTasks.map((command) => ({ iid, execution, command })))
    }
    if (effects.replies.length > 0) this.#setup.replied(effects.replies.map(({ to }) => to))
    if (effects.replies.length > 0 || effects.progress !== null) this.#setup.changed(copy.iid)
  }

  /** Goes on with the next execution of an instance. */
  #continued(copy: Copy, started: TurnRow, keep: boolean): void {
    this.#leave(copy, 'its next execution has begun')
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

  #atRest(copy: Copy, rested: boolean): Next {
    const now = this.#setup.time.now()
    const impatient = rested || this.#setup.crowded()
    return nextAtRest(copy, { now, closing: this.#closing, impatient })
  }

  /** A child was started, or found to run; what it has to say comes by mail. */
  startedChild(copy: Copy, command: number, child: Iid): void {
    copy.running.delete(command)
    copy.children.set(command, child)
    if (copy.state === 'gone') return
    // After a takeover the result may have come while nobody looked.
    this.#setup.look([copy.iid])
    this.#releaseIfAtRest(copy)
  }

  /** Gives back an instance that has nothing to do here for a while; while closing, any at rest. */
  #releaseIfAtRest(copy: Copy, rested = false): void {
    if (copy.state !== 'resting') return
    const next = this.#atRest(copy, rested)
    if (next.kind !== 'release') {
      if (expectsMail(copy) && !copy.alarms.has(REST)) {
        const at = this.#setup.time.now() + REST_MS
        this.#carrier.setAlarm(copy, REST, at, () => this.#releaseIfAtRest(copy, true))
      }
      return
    }
    this.#carrier.silence(copy)
    this.#scribe.next(copy, next)
  }

  #released(copy: Copy, wakeAt: number | null): void {
    this.#carrier.silence(copy)
    this.#notCareful(copy)
    copy.state = 'released'
    this.copies.release(copy)
    this.#notifyLeft()
    this.endings.tell(copy.iid, undefined)
    if (this.#closing) return
    // What came while it was being released is found by whoever claims it.
    if (hasNews(copy)) this.#setup.look([copy.iid])
    if (wakeAt !== null) this.#setup.claimAt(wakeAt)
  }

  #ended(copy: Copy, end: Ending): void {
    for (const reason of copy.run.strays.values()) {
      this.#setup.log.warn(
        { id: copy.id, err: reason },
        'a promise of the workflow rejected unseen',
      )
    }
    this.#leave(copy, 'the workflow has ended')
    this.endings.tell(copy.iid, end)
    this.#setup.changed(copy.iid)
    if (copy.parent !== null && copy.parent.onClose !== 'independent') {
      this.#setup.look([copy.parent.iid])
    }
  }

  #leave(copy: Copy, reason: string): void {
    copy.state = 'gone'
    this.#notCareful(copy)
    this.#carrier.silence(copy)
    for (const attempt of copy.running.values()) attempt.abort(reason)
    copy.running.clear()
    copy.run.drop()
    this.copies.remove(copy)
    this.#notifyLeft()
  }

  /** It got further, or is gone: another one that owners died with may be had. */
  #notCareful(copy: Copy): void {
    if (!copy.careful) return
    copy.careful = false
    this.#setup.carefulOver()
  }

  #notifyLeft(): void {
    this.#left.notifyOne()
    this.#setup.left()
  }

  /** The store cannot take this item, and it is this one's fault alone. */
  #notStored(copy: Copy, next: Next, error: Error): void {
    if (copy.turn === 0) return this.drop(copy, 'its start could not be stored')
    // The tick finds it owned and unknown, and it is read again.
    if (next.kind === 'hold') return this.drop(copy, 'it could not be set aside')
    void this.#setAside(copy, error)
  }

  #setAside(copy: Copy, error: unknown): Promise<void> {
    const { log, values, committer } = this.#setup
    const host: AsideHost = {
      log,
      values,
      scribe: this.#scribe,
      call: this.#call,
      execution: ({ definition, id }) => this.execution(definition, id),
      silence: (one) => this.#carrier.silence(one),
      drop: (one, reason) => this.drop(one, reason),
      flush: () => committer.flush(),
    }
    return setAside(host, copy, error)
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
