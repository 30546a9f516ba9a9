// One instance in memory: its suspended code, and everything this runtime knows about it. Nothing
// outside assigns a field of it: what happens to an instance is a method, whose name is the event.

import type { Loaded } from '../../store/claims.ts'
import type { StartItem, TurnRow, Verdict } from '../../store/commits.ts'
import type { CommandEvent, Event } from '../../store/history.ts'
import type { Iid, ParentLink } from '../../store/instances.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { Execution } from '../replay/execution.ts'
import { isUntouched, type PastTurn, type Replayed } from '../replay/replay.ts'
import { Inbox } from './inbox.ts'
import { OpenCalls } from './open-calls.ts'
import type { Departure, Phase } from './phase.ts'
import { TimerSet } from './timer-set.ts'

const WAITING: Phase = { is: 'waiting' }
const READY: Phase = { is: 'ready' }
const COMMITTING: Phase = { is: 'committing' }
const RELEASED: Phase = { is: 'released' }

/** What an execution began with, besides its input. */
export type Started = Pick<
  Extract<Event, { type: 'started' }>,
  'seed' | 'parentId' | 'state' | 'trace'
>

/** The details of a start besides its first turn. */
export interface StartDetails extends Pick<StartItem, 'labels' | 'messages' | 'priority'> {
  /** Called with the verdict on the start, or why it will get none. Only the first call counts. */
  settle(verdict: Verdict | Error): void
}

/** What never changes about an execution. */
export interface ExecutionFacts {
  readonly iid: Iid
  readonly id: string
  readonly definition: WorkflowDefinition
  readonly run: Execution
  /** Encoded, as it was started. */
  readonly input: string
  readonly started: Started
  readonly parent: ParentLink | null
  /** Counts up with `continueAsNew`. */
  readonly execution: number
}

/** How far the history of an execution is committed. */
interface Position {
  readonly turn: number
  readonly turnAt: number
  readonly seq: number
}

const NOWHERE: Position = { turn: 0, turnAt: 0, seq: 0 }

/** An instance in memory. */
export class LiveInstance implements ExecutionFacts {
  readonly iid: Iid
  readonly id: string
  readonly definition: WorkflowDefinition
  readonly run: Execution
  readonly input: string
  readonly started: Started
  readonly parent: ParentLink | null
  readonly execution: number
  /** What waits for its next turns. */
  readonly inbox: Inbox
  /** The state of its open commands. */
  readonly calls = new OpenCalls()
  readonly timers = new TimerSet()
  #phase = WAITING
  #epoch = 1
  #position = NOWHERE
  #startedAt = 0
  #at = 0
  #past: readonly PastTurn[] | undefined
  #isReopened = false
  #isQuarantined = false
  #writeState: (() => string) | undefined
  #afterCommit: ((row: TurnRow | null) => void)[] | undefined
  #handedBytes: number
  #historyBytes = 0
  #isLongNoted = false
  #start: StartDetails | undefined

  /** An instance that is about to be started; `inbox` is given for its next execution. */
  constructor(facts: ExecutionFacts, inbox?: Inbox) {
    this.iid = facts.iid
    this.id = facts.id
    this.definition = facts.definition
    this.run = facts.run
    this.input = facts.input
    this.started = facts.started
    this.parent = facts.parent
    this.execution = facts.execution
    this.inbox = inbox ?? new Inbox(facts.run, facts.execution)
    this.#handedBytes = facts.input.length
  }

  /** An instance that was read from the store. Its past is replayed in its next turn. */
  static loaded(facts: ExecutionFacts, loaded: Loaded, past: readonly PastTurn[]): LiveInstance {
    const { history, tasks } = loaded
    const instance = new LiveInstance(facts)
    const last = history.at(-1)
    instance.#begins(past, history[0]?.at ?? 0)
    if (last !== undefined) instance.recorded(last)
    instance.#at = last?.at ?? 0
    instance.#handedBytes = history.reduce((sum, { events }) => sum + events.length, 0)
    instance.#historyBytes = instance.#handedBytes
    instance.calls.replaceTasks(tasks)
    return instance
  }

  /** An instance whose history cannot be read. It counts as started, because the store has it. */
  static unreadable(facts: ExecutionFacts, loaded: Loaded): LiveInstance {
    const instance = LiveInstance.loaded(facts, loaded, [])
    const { turn, turnAt, seq } = instance.#position
    instance.#position = { turn: Math.max(1, turn), turnAt, seq }
    return instance
  }

  /** The next execution: messages stay, and so does a request to end. */
  continued(
    facts: Pick<ExecutionFacts, 'definition' | 'run' | 'input' | 'started'>,
    first: TurnRow,
    past: readonly PastTurn[],
  ): LiveInstance {
    const { iid, id, parent } = this
    const { execution, at } = first
    const inbox = new Inbox(facts.run, execution, this.inbox)
    const next = new LiveInstance({ ...facts, iid, id, parent, execution }, inbox)
    next.#epoch = this.#epoch
    next.#begins(past, at)
    next.recorded(first)
    next.#at = at
    return next
  }

  /** The same execution with code of its own, to replay its past beside it. */
  twin(run: Execution, past: readonly PastTurn[] | undefined): LiveInstance {
    const twin = new LiveInstance({ ...factsOf(this), run })
    twin.#past = past
    twin.#at = this.#at
    twin.#startedAt = this.#startedAt
    twin.#position = this.#position
    return twin
  }

  get phase(): Phase {
    return this.#phase
  }

  get isGone(): boolean {
    return this.#phase.is === 'gone'
  }

  /** Raised by each claim and from outside (suspend, terminate): the store refuses older ones. */
  get epoch(): number {
    return this.#epoch
  }

  /** Last committed turn; 0 before the first. */
  get turn(): number {
    return this.#position.turn
  }

  /** When that turn was taken. */
  get turnAt(): number {
    return this.#position.turnAt
  }

  /** Number of the last committed event. */
  get seq(): number {
    return this.#position.seq
  }

  /** Whether its start is committed. */
  get isStarted(): boolean {
    return this.#position.turn > 0
  }

  /** When the execution was started, by the store's clock. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** Time of its last turn. */
  get at(): number {
    return this.#at
  }

  /** History that its next turn has to replay first. */
  get past(): readonly PastTurn[] | undefined {
    return this.#past
  }

  /** Whether runtimes died with it: what is about to run is written to the store first. */
  get isQuarantined(): boolean {
    return this.#isQuarantined
  }

  /** Length of the encoded events that its code was given: an estimate of the memory it uses. */
  get handedBytes(): number {
    return this.#handedBytes
  }

  /** Length of the committed events of the execution. */
  get historyBytes(): number {
    return this.#historyBytes
  }

  /** Its history is long. Returns true the first time. */
  noteLongHistory(): boolean {
    const isFirst = !this.#isLongNoted
    this.#isLongNoted = true
    return isFirst
  }

  /** Whether results that still finish here are for its next owner, or for when it is resumed. */
  get leavesResults(): boolean {
    const phase = this.#phase
    return phase.is === 'gone' && (phase.why === 'superseded' || phase.why === 'suspended')
  }

  // ── Turns ──────────────────────────────────────────────────────────────────────────────────────

  /** It has something to do. Returns whether it was waiting, and so has to be queued for a turn. */
  makeReady(): boolean {
    if (this.#phase.is !== 'waiting') return false
    this.#phase = READY
    return true
  }

  /** A turn begins. */
  beginTurn(now: number): void {
    this.#at = Math.max(now, this.#at)
  }

  /** Its code is called for the first time. */
  beginCode(): void {
    this.#startedAt = this.#at
  }

  /** Its past was replayed. */
  replayed({ attempts }: Replayed): void {
    this.#past = undefined
    this.calls.restoreFailures(attempts)
  }

  /** Whether its open commands have to be carried out again, after a replay or a release. */
  get isReopened(): boolean {
    return this.#isReopened
  }

  /** Its open commands were carried out again. */
  takenUp(): void {
    this.#isReopened = false
  }

  /** Calls back once its turn is committed, and never if that fails: log lines, measurements. */
  afterCommit(report: (row: TurnRow | null) => void): void {
    ;(this.#afterCommit ??= []).push(report)
  }

  /** Its code was called; `write` returns the state for the next execution. */
  keepsStateBy(write: () => string): void {
    this.#writeState = write
  }

  /** The state for the next execution. */
  writeState(): string {
    return this.#writeState === undefined ? this.started.state : this.#writeState()
  }

  /** Whether something is here for its next turn. */
  hasNews(): boolean {
    if (this.#isReopened || this.run.broken !== undefined || this.inbox.hasNews()) return true
    return this.childrenLeft().length > 0
  }

  /** Children that still run when the code has ended, and continue without it. */
  childrenLeft(): readonly number[] {
    const { outcome, open } = this.run
    if (outcome === undefined || open.size === 0) return NONE
    return [...open.keys()].filter((command) => this.calls.child(command) !== undefined)
  }

  /**
   * Whether the answer to a command comes through the inbox: a message, the end of a child, or the
   * result of a task.
   */
  isAnsweredByMail({ type, command }: CommandEvent): boolean {
    return type === 'receive' || type === 'child' || this.calls.isTask(command)
  }

  /** Whether it was loaded, and history has nothing but its start: none of its code has run. */
  get isUntouched(): boolean {
    return this.#past !== undefined && isUntouched(this.#past)
  }

  /** An instance that is cancelled before any of its code ran has nothing to clean up. */
  stopIfNeverRun(): void {
    if (this.execution > 1 || !this.isUntouched) return
    for (const { event, inboxId } of this.inbox.arrivals) {
      if (event.type !== 'cancelled') continue
      const reason = JSON.parse(event.reason) as string
      const stop = { status: 'cancelled', reason } as const
      return this.inbox.stopWith(inboxId === undefined ? stop : { ...stop, inboxId })
    }
  }

  // ── Commits ────────────────────────────────────────────────────────────────────────────────────

  /** It is about to be started. */
  startWith(start: StartDetails): void {
    this.#start = start
  }

  /** The details of its start; `undefined` once the start is committed. */
  get start(): StartDetails | undefined {
    return this.#start
  }

  /** What its turn decided goes to the store. */
  beginCommit(): void {
    if (!this.isGone) this.#phase = COMMITTING
  }

  /** Its history is committed up to this row: that of a turn, or of its start by itself. */
  recorded({ turn, at, first, count, events }: TurnRow): void {
    if (this.#start !== undefined) {
      // Messages that came with the start are in its inbox now.
      if (this.#start.messages.length > 0) this.inbox.expectEarlyMail()
      this.#start = undefined
    }
    this.#position = { turn, turnAt: at, seq: first + count - 1 }
    this.#historyBytes += events.length
  }

  /** The store has what its turn decided. Runs the callbacks that waited for it. */
  committed(row: TurnRow | null, taken: readonly number[]): void {
    this.#phase = WAITING
    if (row !== null) {
      this.recorded(row)
      this.#handedBytes += row.events.length
    }
    this.inbox.deleted(taken)
    const reports = this.#afterCommit
    this.#afterCommit = undefined
    if (reports !== undefined) for (const report of reports) report(row)
  }

  /** Its turn failed: nothing of it is committed, and nothing of it is logged. */
  turnFailed(): void {
    this.#afterCommit = undefined
  }

  // ── Ownership ──────────────────────────────────────────────────────────────────────────────────

  /** This runtime claimed it. */
  claimed(epoch: number, tasks: Loaded['tasks'], isQuarantined: boolean): void {
    this.#epoch = epoch
    this.#phase = WAITING
    this.#isReopened = true
    this.#isQuarantined = isQuarantined
    this.calls.replaceTasks(tasks)
  }

  /** It got further than the owners that died with it, or is gone. Returns whether it was quarantined. */
  leaveQuarantine(): boolean {
    const was = this.#isQuarantined
    this.#isQuarantined = false
    return was
  }

  /** Its commit released it. */
  released(): void {
    this.#phase = RELEASED
  }

  /** It leaves this runtime: nothing of it runs here any more, and its code is dropped. */
  leave(why: Departure, reason: string): void {
    this.#phase = this.#phase.is === 'gone' ? this.#phase : { is: 'gone', why }
    this.calls.abortAll(reason)
    this.run.drop()
  }

  /**
   * Another runtime owns it, or will: results that finished here are for that owner. Returns whether
   * they may be handed over; not if the store may have lost what they depend on.
   */
  supersede(why: 'superseded' | 'suspended'): boolean {
    if (this.#phase.is === 'gone' && this.#phase.why === 'rolled back') return false
    this.#phase = { is: 'gone', why }
    this.inbox.dropArrivals()
    return true
  }

  #begins(past: readonly PastTurn[], startedAt: number): void {
    this.#past = past
    this.#startedAt = startedAt
    this.#isReopened = true
  }
}

const NONE: readonly number[] = []

function factsOf(instance: LiveInstance): ExecutionFacts {
  const { iid, id, definition, run, input, started, parent, execution } = instance
  return { iid, id, definition, run, input, started, parent, execution }
}

/** The last committed turn. By it the store knows whether it still has what a result depends on. */
export function lastTurnOf({ turn, turnAt }: LiveInstance): {
  readonly turn: number
  readonly at: number
} {
  return { turn, at: turnAt }
}
