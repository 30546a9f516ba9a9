// Leads copies through their lives: turn, commit, carry out, rest.
//
//   T1. Nothing that a turn decided is carried out before its commit was answered `done`: no
//       activity starts, no timer is set, no log line is written, no waiter is told.
//   T2. A copy whose item was refused is thrown away, whatever it has become since.
//   T3. A copy has at most one item at the committer.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { notify } from '../../base/notify.ts'
import { StoreError } from '../../store/store-error.ts'
import { readEvents, writeEvents } from '../../store/history.ts'
import type {
  Claim,
  Delivery,
  Effects,
  Ending,
  Iid,
  Loaded,
  Next,
  TurnRow,
  Verdict,
} from '../../store/workflow-store.ts'
import { callCode, type ContextHost } from '../context/make-context.ts'
import type { WorkflowContext } from '../context/workflow-context.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { Execution, type Given, type Outcome } from '../replay/execution.ts'
import { NondeterminismError } from '../replay/nondeterminism.ts'
import { parse } from '../schema.ts'
import type { Values } from '../values.ts'
import type { Activities, ActivityWork } from './activities.ts'
import type { Alarms } from './alarms.ts'
import type { Committer } from './committer.ts'
import { Copies } from './copies.ts'
import { type Arrival, type Copy, newCopy, type TurnResult } from './copy.ts'
import { Endings } from './endings.ts'
import { cleanUpUntil, expectsMail, nextAtRest, REST_MS } from './next-at-rest.ts'
import { Errand, type Outgoing } from './outgoing.ts'
import { readCopy, takeInbox } from './read-copy.ts'
import { newSeed, type NewInstance } from './start-item.ts'
import type { StoreClock } from './store-clock.ts'
import { insideExecution } from './strays.ts'
import { firesAt, locateMismatch, takeTurn } from './take-turn.ts'
import { Turner } from './turner.ts'
import { endAtOnce, endOf, finalError, startedEvent, turnRow } from './turn-row.ts'

// How often an instance comes back to see whether the code of its activity is there.
const LOOK_FOR_CODE_MS = 10_000
// A shorter delay is not worth a commit: after a crash the attempt is made at once.
const RECORDED_DELAY_MS = 1_000

const NOTHING: TurnResult = { events: [], given: [], taken: [], dropped: [], effects: null }

// Alarms of an instance that belong to no command.
const REST = -1
const CLEAN_UP = -2

/** What the conductor works with. */
export interface ConductorSetup {
  readonly clock: Clock
  readonly time: StoreClock
  readonly alarms: Alarms
  readonly values: Values
  readonly log: Logger
  readonly committer: Committer
  readonly context: ContextHost
  /** Runs what turns asked for. */
  activities(): Activities
  /** Carries out what turns asked of other instances. */
  outgoing(): Outgoing
  /** The code of a version; without one, of the latest. */
  workflow(name: string, version: string | undefined): WorkflowDefinition | undefined
  workflowNumber(definition: WorkflowDefinition): number | undefined
  /** The number of a workflow whose code is not here. */
  foreignNumber(name: string, version: string): Promise<number>
  /** Whether there is little room for further instances. */
  crowded(): boolean
  /** There is, or may be, mail for these instances. */
  look(iids: readonly Iid[]): void
  /** Requests were answered. */
  replied(to: readonly string[]): void
  /** Hands results over that an owner who lost the instance still has. */
  handOver(deliveries: readonly Delivery[]): void
  /** Something is due at this moment of store time and nobody owns it. */
  claimAt(at: number): void
  /** An instance is no longer owned here. */
  left(): void
  /** An instance needs code that is not here. */
  lacksCode(): void
}

/** Leads the copies of one runtime. */
export class Conductor {
  readonly copies = new Copies()
  readonly endings = new Endings()
  readonly turner: Turner
  readonly #setup: ConductorSetup
  readonly #left = notify()
  readonly #warned = new Set<string>()
  /** Of instances that are not recorded yet: what they were started with. */
  readonly #starts = new WeakMap<Copy, NewInstance>()
  #closing = false

  constructor(setup: ConductorSetup) {
    const { clock, log, committer } = setup
    this.#setup = setup
    this.turner = new Turner({
      clock,
      log,
      turn: (copy) => this.#turn(copy),
      turnsTaken: () => committer.flush(),
    })
  }

  /** An execution for an instance. */
  execution(definition: WorkflowDefinition, id: string): Execution {
    const label = `instance "${id}" of workflow "${definition.name}" ${definition.version}`
    return new Execution(label, this.#setup.values)
  }

  /** Takes a new instance through its first turn. Its row is recorded with that turn. */
  begin(copy: Copy, start: NewInstance): void {
    this.#add(copy)
    this.#starts.set(copy, start)
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
    this.#add(copy)
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
  #receive(copy: Copy, { inbox }: Loaded): void {
    try {
      takeInbox(copy, inbox)
      if (isWaitedFor(copy)) this.turner.enqueue(copy)
    } catch (error) {
      void this.#setAside(copy, error)
    }
  }

  /** Something arrived for an instance that is owned. */
  deliver(copy: Copy, loaded: Loaded): void {
    if (copy.state !== 'gone') this.#receive(copy, loaded)
  }

  /** Puts arrivals before a copy and lets it have a turn. */
  arrive(copy: Copy, arrivals: readonly Arrival[]): void {
    if (copy.state === 'gone' || arrivals.length === 0) return
    for (const arrival of arrivals) copy.arrivals.push(arrival)
    this.turner.enqueue(copy)
  }

  /** An attempt failed; another one follows after `delayMs`. */
  retryAfter(copy: Copy, command: number, attempt: number, delayMs: number, error: string): void {
    const given = copy.run.open.get(command)
    if (given === undefined || copy.state === 'gone') return
    const retryAt = Math.ceil(this.#setup.time.now() + delayMs)
    copy.attempts.set(command, { attempts: attempt, retryAt })
    this.#setAlarm(copy, command, retryAt, () => this.#startAttempt(copy, given))
    if (delayMs >= RECORDED_DELAY_MS) {
      this.arrive(copy, [{ event: { type: 'attempt', command, attempt, retryAt, error } }])
    } else {
      this.#releaseIfAtRest(copy)
    }
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
    this.#setup.activities().clearQueue()
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

  async #turn(copy: Copy): Promise<void> {
    const { time, values } = this.#setup
    if (copy.stop !== undefined) return this.#stop(copy)
    let result: TurnResult
    try {
      result = await takeTurn(copy, time.now(), this.#call)
    } catch (error) {
      return this.#setAside(copy, error)
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
    this.#commit(copy, turnRow(copy, result.events), this.#atRest(copy, false), result)
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
    this.#commit(copy, turnRow(copy, events), { kind: 'end', end }, result)
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
      return this.#commitStart(copy, row, { kind: 'keep' }, NOTHING, (verdict) => {
        if (verdict !== 'done') return this.#recorded(copy, row, { kind: 'keep' }, NOTHING, verdict)
        copy.turn = copy.seq = 1
        void this.#continue(copy, outcome, { ...result, events })
        this.#setup.committer.flush()
      })
    }
    const { values, committer } = this.#setup
    let next: Next
    try {
      next = await this.#nextExecution(copy, outcome)
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
    this.#commit(copy, turnRow(copy, events), next, result)
  }

  async #nextExecution(
    copy: Copy,
    { input: given, version }: Extract<Outcome, { kind: 'continued' }>,
  ): Promise<Extract<Next, { kind: 'continue' }>> {
    const { values } = this.#setup
    const { name, version: current } = copy.definition
    const definition = this.#setup.workflow(name, version) ?? {
      ...copy.definition,
      version: version ?? current,
    }
    const what = `ctx.continueAsNew: input of workflow "${name}"`
    const input =
      definition.input === undefined
        ? given
        : values.encode(await parse(definition.input, values.value(given), what), what)
    const started = { seed: newSeed(), parentId: copy.started.parentId, state: copy.writeState() }
    const events = writeEvents([startedEvent({ definition, input, started })])
    const number = this.#setup.workflowNumber(definition)
    return {
      kind: 'continue',
      started: {
        execution: copy.generation + 1,
        turn: 1,
        at: copy.at,
        first: 1,
        count: 1,
        events,
      },
      workflow: number ?? (await this.#setup.foreignNumber(name, definition.version)),
      keep: number !== undefined,
    }
  }

  #commit(copy: Copy, row: TurnRow | null, next: Next, result: TurnResult): void {
    const { committer } = this.#setup
    const starting = unsettledStarts(copy, next, result)
    if (starting.length > 0) {
      // A child that is being started can be closed only once it is there.
      const again = (): void => {
        if (copy.state === 'committing') this.#commit(copy, row, next, result)
      }
      void Promise.all(starting).then(again)
      return
    }
    if (copy.turn === 0) {
      return this.#commitStart(copy, row!, next, result, (verdict) =>
        this.#recorded(copy, row, next, result, verdict),
      )
    }
    // Nothing of it may begin here while it is being given away.
    if (next.kind === 'release') this.#silence(copy)
    const { taken, effects } = result
    if (row === null && taken.length === 0 && effects === null && next.kind === 'keep') {
      // A copy that was read again and has nothing new: what was open goes on.
      return this.#recorded(copy, row, next, result, 'done')
    }
    committer.add({
      turn: { iid: copy.iid, epoch: copy.epoch, turn: row, taken, effects, next },
      settle: (verdict) => this.#recorded(copy, row, next, result, verdict),
    })
  }

  #commitStart(
    copy: Copy,
    turn: TurnRow,
    next: Next,
    { effects }: TurnResult,
    settle: (verdict: Verdict | Error) => void,
  ): void {
    const { iid, id, definition, parent } = copy
    const { labels, messages } = this.#starts.get(copy)!
    const workflow = this.#setup.workflowNumber(definition)!
    // One that only sleeps is nobody's from the beginning.
    const wakeAt = next.kind === 'release' ? next.wakeAt : null
    const end = next.kind === 'end' ? next.end : null
    const owned = next.kind !== 'release'
    this.#setup.committer.add({
      start: { iid, id, workflow, owned, wakeAt, turn, end, parent, labels, messages, effects },
      settle: (verdict) => {
        copy.onStarted?.(verdict)
        settle(verdict)
      },
    })
  }

  #recorded(
    copy: Copy,
    turn: TurnRow | null,
    next: Next,
    result: TurnResult,
    verdict: Verdict | Error,
  ): void {
    if (copy.state === 'gone') return
    if (verdict instanceof Error) return this.#notStored(copy, next, verdict)
    if (verdict !== 'done') {
      this.#handOver(copy, result)
      return this.drop(copy, 'another runtime has taken over')
    }
    const isNew = copy.turn === 0
    copy.state = 'resting'
    if (turn !== null) {
      copy.turn = turn.turn
      copy.seq = turn.first + turn.count - 1
      this.copies.grow(copy, turn.events.length)
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
        for (const given of result.given) this.#carryOut(copy, given)
        this.#watchCleanUp(copy)
        // What was sent along with the start is in its inbox.
        if (isNew && this.#starts.get(copy)!.messages.length > 0) this.#setup.look([copy.iid])
        if (isWaitedFor(copy)) this.turner.enqueue(copy)
        else this.#releaseIfAtRest(copy)
    }
  }

  /** What the turn meant for others here: attempts that are not wanted, children, those who asked. */
  #tellOthers(copy: Copy, { dropped, effects }: TurnResult): void {
    const children: Iid[] = []
    for (const command of dropped) {
      copy.running.get(command)?.abort('its result is not wanted any more')
      copy.running.delete(command)
      copy.attempts.delete(command)
      this.#cancelAlarm(copy, command)
      const child = copy.children.get(command)
      if (child !== undefined) children.push(child)
    }
    if (effects === null) return
    if (effects.closes === 'all') children.push(...copy.children.values())
    if (children.length > 0) this.#setup.look(children)
    if (effects.replies.length > 0) this.#setup.replied(effects.replies.map(({ to }) => to))
  }

  /** Goes on with the next execution of an instance. */
  #continued(copy: Copy, started: TurnRow, keep: boolean): void {
    const { iid, id, parent, epoch, mailbox, known, stop } = copy
    // Results were for the last execution; a cancellation is for the instance.
    const arrivals = copy.arrivals.filter(({ event }) => event.type === 'cancelled')
    this.#leave(copy, 'its next execution has begun')
    if (!keep) {
      this.endings.tell(iid, undefined)
      return this.#setup.claimAt(this.#setup.time.now())
    }
    const [first] = readEvents(started.events) as [ReturnType<typeof startedEvent>]
    const { workflow: name, version, input } = first
    const definition = this.#setup.workflow(name, version)!
    const run = this.execution(definition, id)
    this.#add({
      ...newCopy({ iid, id, definition, run, input, started: first, parent }),
      generation: started.execution,
      epoch,
      mailbox,
      known,
      stop,
      arrivals,
      turn: 1,
      seq: 1,
      startedAt: started.at,
      at: started.at,
      past: [{ at: started.at, events: [first] }],
      reopened: true,
    })
    const next = this.copies.get(iid)!
    this.turner.enqueue(next)
    // What was read for the last execution may have been meant for this one.
    this.#setup.look([iid])
  }

  /** What was finished here is not done again by whoever has the instance now. */
  #handOver({ iid, generation, arrivals }: Copy, { events }: TurnResult): void {
    const finished = [...events, ...arrivals.map(({ event }) => event)]
    const deliveries = finished.flatMap((event): Delivery[] => {
      if (event.type !== 'completed' && event.type !== 'failed') return []
      const payload = event.type === 'completed' ? event.value : event.error
      return [{ iid, kind: event.type, execution: generation, command: event.command, payload }]
    })
    if (deliveries.length > 0) this.#setup.handOver(deliveries)
  }

  #carryOut(copy: Copy, given: Given): void {
    const { event } = given
    const { command } = event
    if (!copy.run.open.has(command)) return
    const at = firesAt(event)
    if (at < Infinity) {
      const fired: Arrival = { event: { type: 'fired', command } }
      return this.#setAlarm(copy, command, at, () => this.arrive(copy, [fired]))
    }
    if (event.type !== 'activity' && event.type !== 'step') {
      // A child that is known to run, and a message, come by themselves.
      if (event.type !== 'receive' && !copy.children.has(command) && !this.#closing) {
        this.#setup.outgoing().start(copy, given)
      }
      return
    }
    const retryAt = copy.attempts.get(event.command)?.retryAt ?? 0
    if (retryAt <= this.#setup.time.now()) this.#startAttempt(copy, given)
    else this.#setAlarm(copy, event.command, retryAt, () => this.#startAttempt(copy, given))
  }

  #startAttempt(copy: Copy, { event, work }: Given): void {
    if (copy.state === 'gone' || this.#closing) return
    const activity = work as ActivityWork
    if (activity.step === undefined && activity.definition === undefined) {
      return this.#lacksCode(copy, { event, work, stack: undefined }, activity.name)
    }
    const attempt = (copy.attempts.get(event.command)?.attempts ?? 0) + 1
    this.#setup.activities().start(copy, event.command, activity, attempt)
  }

  /** Gives the instance away for a while, in case another runtime has the code. */
  #lacksCode(copy: Copy, given: Given, activity: string): void {
    const { time, log } = this.#setup
    const { command } = given.event
    if (!this.#warned.has(activity)) {
      this.#warned.add(activity)
      log.warn(
        { activity, id: copy.id },
        'no code is registered here for this activity; its instances wait for a runtime that has it',
      )
    }
    this.#setup.lacksCode()
    const retryAt = time.now() + LOOK_FOR_CODE_MS
    copy.attempts.set(command, { attempts: copy.attempts.get(command)?.attempts ?? 0, retryAt })
    this.#setAlarm(copy, command, retryAt, () => this.#startAttempt(copy, given))
  }

  #setAlarm(copy: Copy, command: number, at: number, ring: () => void): void {
    const alarm = {
      ring: () => {
        copy.alarms.delete(command)
        ring()
      },
    }
    this.#cancelAlarm(copy, command)
    copy.alarms.set(command, { alarm, at })
    this.#setup.alarms.set(alarm, at)
  }

  #cancelAlarm(copy: Copy, command: number): void {
    const set = copy.alarms.get(command)
    if (set === undefined) return
    this.#setup.alarms.cancel(set.alarm)
    copy.alarms.delete(command)
  }

  /** Clean-up after a cancellation has its time; then the instance ends as it stands. */
  #watchCleanUp(copy: Copy): void {
    const until = cleanUpUntil(copy)
    if (until === undefined || copy.alarms.has(CLEAN_UP)) return
    this.#setAlarm(copy, CLEAN_UP, until, () => {
      this.#setup.log.warn(
        { id: copy.id },
        'clean-up took too long: the instance ends as it stands',
      )
      copy.stop = { status: 'cancelled', reason: copy.run.cancelled!.reason }
      this.turner.enqueue(copy)
    })
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
        this.#setAlarm(copy, REST, at, () => this.#releaseIfAtRest(copy, true))
      }
      return
    }
    this.#silence(copy)
    this.#commitWithoutTurn(copy, next)
  }

  #commitWithoutTurn(copy: Copy, next: Next): void {
    const { committer } = this.#setup
    copy.state = 'committing'
    committer.add({
      turn: { iid: copy.iid, epoch: copy.epoch, turn: null, taken: [], effects: null, next },
      settle: (verdict) => this.#recorded(copy, null, next, NOTHING, verdict),
    })
    committer.flush()
  }

  #released(copy: Copy, wakeAt: number | null): void {
    this.#silence(copy)
    copy.state = 'released'
    this.copies.release(copy)
    this.#notifyLeft()
    this.endings.tell(copy.iid, undefined)
    if (wakeAt !== null && !this.#closing) this.#setup.claimAt(wakeAt)
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
    if (copy.parent !== null && copy.parent.onClose !== 'independent') {
      this.#setup.look([copy.parent.iid])
    }
  }

  #leave(copy: Copy, reason: string): void {
    copy.state = 'gone'
    this.#silence(copy)
    for (const attempt of copy.running.values()) attempt.abort(reason)
    copy.running.clear()
    copy.run.drop()
    this.copies.remove(copy)
    this.#notifyLeft()
  }

  #notifyLeft(): void {
    this.#left.notifyOne()
    this.#setup.left()
  }

  #silence(copy: Copy): void {
    for (const { alarm } of copy.alarms.values()) this.#setup.alarms.cancel(alarm)
    copy.alarms.clear()
  }

  /** The store cannot take this item, and it is this one's fault alone. */
  #notStored(copy: Copy, next: Next, error: Error): void {
    if (copy.turn === 0) return this.drop(copy, 'its start could not be stored')
    // The tick finds it owned and unknown, and it is read again.
    if (next.kind === 'hold') return this.drop(copy, 'it could not be set aside')
    void this.#setAside(copy, error)
  }

  /** The instance cannot go on: it is suspended with a report, never failed, never guessed around. */
  async #setAside(copy: Copy, thrown: unknown): Promise<void> {
    const { log, values } = this.#setup
    const error = thrown instanceof NondeterminismError ? await this.#locate(copy, thrown) : thrown
    if (copy.state === 'gone') return
    const { id, definition } = copy
    log.error({ id, workflow: definition.name, err: error }, 'instance set aside')
    this.#silence(copy)
    for (const attempt of copy.running.values()) attempt.abort('the instance was set aside')
    copy.running.clear()
    copy.lines = []
    const next: Next = { kind: 'hold', report: values.encodeError(error) }
    if (copy.turn > 0) return this.#commitWithoutTurn(copy, next)
    // It exists from now on, and is set aside: the start was accepted.
    copy.state = 'committing'
    const row = turnRow(copy, [startedEvent(copy)])!
    this.#commitStart(copy, row, { kind: 'keep' }, NOTHING, (verdict) => {
      if (verdict !== 'done') return this.drop(copy, 'it was not started')
      copy.turn = 1
      this.#commitWithoutTurn(copy, next)
    })
    this.#setup.committer.flush()
  }

  #locate(copy: Copy, error: NondeterminismError): Promise<NondeterminismError> {
    if (copy.past === undefined) return Promise.resolve(error)
    const run = this.execution(copy.definition, copy.id)
    return locateMismatch({ ...copy, run, lines: [], arrivals: [] }, this.#call, error)
  }

  readonly #call = (copy: Copy): (() => Promise<unknown>) => {
    const { definition, run } = copy
    const { output } = definition
    const input = this.#setup.values.value(copy.input)
    const code = (ctx: WorkflowContext): Promise<unknown> => definition.run!(input as never, ctx)
    const checked = async (ctx: WorkflowContext): Promise<unknown> => {
      const what = `workflow "${definition.name}": its result`
      const value = await code(ctx)
      await parse(output, value, what)
      return value
    }
    const called = output === undefined ? code : checked
    return () => insideExecution(run, () => callCode(copy, this.#setup.context, called))
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

const NO_EFFECTS: Effects = {
  parked: [],
  closes: [],
  clearsState: false,
  state: [],
  progress: null,
  replies: [],
}

/** Whether something is there for the next turn of a copy. */
function isWaitedFor({ arrivals, stop, run, mailbox, reopened, stale }: Copy): boolean {
  if (arrivals.length > 0 || stale.length > 0 || reopened) return true
  if (stop !== undefined || run.broken !== undefined) return true
  for (const [channel, waiting] of mailbox) {
    if (run.receiver(channel) !== undefined || waiting.some((mail) => !mail.parked)) return true
  }
  return false
}

/** Children among what this item closes whose start is still under way. */
function unsettledStarts(copy: Copy, next: Next, { dropped }: TurnResult): Promise<void>[] {
  const commands = next.kind === 'end' ? copy.running.keys() : dropped
  const starting: Promise<void>[] = []
  for (const command of commands) {
    const errand = copy.running.get(command)
    if (!(errand instanceof Errand) || !copy.run.isChild(command)) continue
    errand.abort()
    starting.push(errand.over)
  }
  return starting
}
