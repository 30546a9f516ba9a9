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
import type { Claim, Ending, Loaded, Next, TurnRow, Verdict } from '../../store/workflow-store.ts'
import { type ContextHost, makeContext } from '../context/make-context.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { Execution, type Given } from '../replay/execution.ts'
import { NondeterminismError } from '../replay/nondeterminism.ts'
import type { Values } from '../values.ts'
import type { Activities, ActivityWork } from './activities.ts'
import type { Alarms } from './alarms.ts'
import type { Committer } from './committer.ts'
import { Copies } from './copies.ts'
import type { Arrival, Copy, TurnResult } from './copy.ts'
import { Endings } from './endings.ts'
import { nextAtRest } from './next-at-rest.ts'
import { inboxArrivals, readCopy } from './read-copy.ts'
import type { StoreClock } from './store-clock.ts'
import { insideExecution } from './strays.ts'
import { locateMismatch, takeTurn } from './take-turn.ts'
import { Turner } from './turner.ts'
import { endOf, startedEvent, turnRow } from './turn-row.ts'

// How often an instance comes back to see whether the code of its activity is there.
const LOOK_FOR_CODE_MS = 10_000
// A shorter delay is not worth a commit: after a crash the attempt is made at once.
const RECORDED_DELAY_MS = 1_000

const NOTHING: TurnResult = { events: [], given: [], taken: [] }

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
  workflowNumber(definition: WorkflowDefinition): number | undefined
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
  begin(copy: Copy): void {
    this.#add(copy)
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
  #receive(copy: Copy, loaded: Loaded): void {
    try {
      this.arrive(copy, inboxArrivals(loaded))
    } catch (error) {
      void this.#setAside(copy, error)
    }
  }

  /** Results arrived for an instance that is owned. */
  deliver(loaded: Loaded): void {
    const copy = this.copies.get(loaded.iid)
    if (copy !== undefined) this.#receive(copy, loaded)
  }

  /** Puts arrivals before a copy and lets it have a turn. */
  arrive(copy: Copy, arrivals: readonly Arrival[]): void {
    if (copy.state === 'gone' || arrivals.length === 0) return
    for (const arrival of arrivals) copy.arrivals.push(arrival)
    this.turner.enqueue(copy)
  }

  /** An attempt failed; another one follows at `retryAt`. */
  retryAt(copy: Copy, command: number, attempt: number, retryAt: number, error: string): void {
    const given = copy.run.open.get(command)
    if (given === undefined || copy.state === 'gone') return
    copy.attempts.set(command, { attempts: attempt, retryAt })
    this.#setAlarm(copy, command, retryAt, () => this.#startAttempt(copy, given))
    if (retryAt - this.#setup.time.now() >= RECORDED_DELAY_MS) {
      this.arrive(copy, [{ event: { type: 'attempt', command, attempt, retryAt, error } }])
    } else {
      this.#releaseIfAtRest(copy)
    }
  }

  /** Throws a copy away. What it stands for is somebody else's, or will be read again. */
  drop(copy: Copy, reason: string): void {
    copy.started?.(new StoreError('closed', 'start', reason))
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
    const { committer, time, values } = this.#setup
    let result: TurnResult
    try {
      result = await takeTurn(copy, time.now(), this.#call)
    } catch (error) {
      return this.#setAside(copy, error)
    }
    if (copy.state !== 'ready') return
    copy.state = 'committing'
    const end = endOf(copy, values)
    const events = end
      ? [...result.events, { type: 'ended', status: end.status } as const]
      : result.events
    const row = turnRow(copy, events)
    const next: Next = end
      ? { kind: 'end', end }
      : nextAtRest(copy, this.#setup.time.now(), this.#closing)
    if (copy.turn === 0) {
      return this.#commitStart(copy, row!, next, (verdict) =>
        this.#recorded(copy, row, next, result, verdict),
      )
    }
    // Nothing of it may begin here while it is being given away.
    if (next.kind === 'release') this.#silence(copy)
    if (row === null && result.taken.length === 0 && next.kind === 'keep') {
      // A copy that was read again and has nothing new: what was open goes on.
      return this.#recorded(copy, row, next, result, 'done')
    }
    committer.add({
      turn: { iid: copy.iid, epoch: copy.epoch, turn: row, taken: result.taken, next },
      settle: (verdict) => this.#recorded(copy, row, next, result, verdict),
    })
  }

  #commitStart(
    copy: Copy,
    turn: TurnRow,
    next: Next,
    settle: (verdict: Verdict | Error) => void,
  ): void {
    const { iid, id, definition } = copy
    const workflow = this.#setup.workflowNumber(definition)!
    // One that only sleeps is nobody's from the beginning.
    const wakeAt = next.kind === 'release' ? next.wakeAt : null
    const end = next.kind === 'end' ? next.end : null
    this.#setup.committer.add({
      start: { iid, id, workflow, owned: next.kind !== 'release', wakeAt, turn, end },
      settle: (verdict) => {
        copy.started?.(verdict)
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
    if (verdict !== 'done') return this.drop(copy, 'another runtime has taken over')
    copy.state = 'resting'
    if (turn !== null) {
      copy.turn = turn.turn
      copy.seq = turn.first + turn.count - 1
      this.copies.grow(copy, turn.events.length)
    }
    for (const line of copy.lines) line()
    copy.lines = []
    switch (next.kind) {
      case 'end':
        return this.#ended(copy, next.end)
      case 'hold':
        return this.drop(copy, 'it was set aside')
      case 'release':
        return this.#released(copy, next.wakeAt)
      case 'keep':
        for (const given of result.given) this.#carryOut(copy, given)
        if (copy.arrivals.length > 0 || copy.run.broken) this.turner.enqueue(copy)
        else this.#releaseIfAtRest(copy)
    }
  }

  #carryOut(copy: Copy, given: Given): void {
    const { event } = given
    if (!copy.run.open.has(event.command)) return
    if (event.type === 'timer') {
      const fired: Arrival = { event: { type: 'fired', command: event.command } }
      return this.#setAlarm(copy, event.command, event.fireAt, () => this.arrive(copy, [fired]))
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
    copy.alarms.set(command, { alarm, at })
    this.#setup.alarms.set(alarm, at)
  }

  /** Gives back an instance that has nothing to do here for a while; while closing, any at rest. */
  #releaseIfAtRest(copy: Copy): void {
    if (copy.state !== 'resting') return
    const next = nextAtRest(copy, this.#setup.time.now(), this.#closing)
    if (next.kind !== 'release') return
    this.#silence(copy)
    this.#commitWithoutTurn(copy, next)
  }

  #commitWithoutTurn(copy: Copy, next: Next): void {
    const { committer } = this.#setup
    copy.state = 'committing'
    committer.add({
      turn: { iid: copy.iid, epoch: copy.epoch, turn: null, taken: [], next },
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
    this.#commitStart(copy, turnRow(copy, [startedEvent(copy)])!, { kind: 'keep' }, (verdict) => {
      if (verdict !== 'done') return this.drop(copy, 'it was not started')
      copy.turn = 1
      this.#commitWithoutTurn(copy, next)
    })
    this.#setup.committer.flush()
  }

  #locate(copy: Copy, error: NondeterminismError): Promise<NondeterminismError> {
    if (copy.past === undefined) return Promise.resolve(error)
    const run = this.execution(copy.definition, copy.id)
    return locateMismatch({ ...copy, run, lines: [] }, this.#call, error)
  }

  readonly #call = (copy: Copy): (() => Promise<unknown>) => {
    const { definition, run } = copy
    const input = this.#setup.values.value(copy.input)
    const ctx = makeContext(copy, this.#setup.context)
    return () => insideExecution(run, () => definition.run!(input as never, ctx))
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
