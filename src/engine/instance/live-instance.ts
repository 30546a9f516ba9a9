import type { Loaded } from '../../store/claims.ts'
import type { Effects, Verdict } from '../../store/commits.ts'
import type { CommandEvent, Event } from '../../store/history.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { Execution, IssuedCommand } from '../replay/execution.ts'
import type { OpenAttempt, PastTurn } from '../replay/replay.ts'
import type { Iid, ParentLink } from '../../store/instances.ts'
import type { OpenTask } from '../../store/tasks.ts'
import type { Attempt } from '../runtime/activities/activity-call.ts'
import type { Alarm } from '../core/alarms.ts'
import { KnownRows } from './known-rows.ts'

/** A result, an attempt, or a request to end that will be part of the next turn. */
export interface Arrival {
  readonly event: Extract<
    Event,
    { type: 'completed' | 'failed' | 'fired' | 'attempt' | 'cancelled' }
  >
  /** The inbox row it came from. */
  readonly inboxId?: number
  /** The result of somebody else: the task of its command is still there. */
  readonly besideTask?: boolean
  /** Of a timer that was put off: the last message that comes before it. See `isPutOff`. */
  readonly behind?: number
}

/** A message in the inbox of an instance. */
export interface Mail {
  readonly inboxId: number
  readonly channel: string
  /** Encoded; `undefined` until it is read, which happens when those before it are gone. */
  value: string | undefined
  readonly replyTo: string
  /** Whether the store knows that nobody waits for it. */
  parked: boolean
}

/** What an execution began with, beside its input. */
export type Started = Pick<Extract<Event, { type: 'started' }>, 'seed' | 'parentId' | 'state'>

/** Why an instance is to end at once. */
export interface Stop {
  readonly status: 'cancelled' | 'terminated'
  readonly reason: string
  readonly inboxId?: number
}

/** An instance in memory: its code, waiting. */
export interface LiveInstance {
  readonly iid: Iid
  readonly id: string
  readonly definition: WorkflowDefinition
  readonly run: Execution
  /** Encoded, as it was started. */
  readonly input: string
  readonly started: Started
  readonly parent: ParentLink | null
  readonly execution: number
  epoch: number
  /** Last recorded turn; 0 before the first. */
  turn: number
  /** When that turn was taken. */
  turnAt: number
  /** Number of the last recorded event. */
  seq: number
  /** When the execution was started, by the store's clock. */
  startedAt: number
  /** Time of the last turn. */
  at: number
  /**
   * `released`: kept in case it is claimed again. `gone`: refused, ended or dropped; nothing may be
   * done with it any more.
   */
  state: 'resting' | 'ready' | 'committing' | 'released' | 'gone'
  /** History still to be repeated before anything else. */
  past: readonly PastTurn[] | undefined
  arrivals: Arrival[]
  /** Messages that no turn has taken yet, by channel, in the order they came. */
  readonly mailbox: Map<string, Mail[]>
  /** Those of them whose values are not read yet, by the number of their row. */
  unread: Map<number, Mail> | undefined
  /** Whether its inbox has to be read for the first time since this execution began. */
  mailDue: boolean
  /** Inbox rows that are known here, so that reading them again brings nothing twice. */
  readonly known: KnownRows
  /** That something was sent to it before its start was recorded. */
  hasMail: boolean
  /** Arrivals for the next execution. */
  held: Arrival[]
  /** Inbox rows with results for executions that are over: they only have to go. */
  stale: number[]
  /** That it is to end at once, without its code. */
  stop: Stop | undefined
  /** Children whose start is recorded, by command. */
  readonly children: Map<number, Iid>
  /** Writes the state for the next execution. Set when the code is called. */
  writeState: () => string
  /** Log lines of the turn, written when it is recorded. */
  lines: (() => void)[]
  /** Activities and steps that run or wait for a slot here. */
  readonly running: Map<number, Attempt>
  /** Activities that wait in the store for a runtime, or run in one, by command. */
  tasks: Map<number, OpenTask> | undefined
  /** Activities that are to become tasks: the next item that is committed says so. */
  newTasks: Set<number> | undefined
  /** What attempts of steps last told, by command. */
  stepBeats: Map<number, string> | undefined
  /** Whether owners died with it: each start of code or activity is told beforehand. */
  quarantined: boolean
  /** Whether somebody else has it now: what still finishes here is handed over. */
  superseded: boolean
  /** What it knows may not be recorded any more: nothing of it may go anywhere. */
  isRolledBack: boolean
  /** Failed attempts of commands that are open. */
  attempts: Map<number, OpenAttempt>
  /** True when what is open has to be taken up again: after a replay, or a release. */
  reopened: boolean
  /** Timers and later attempts, by command. */
  readonly alarms: Map<number, { readonly alarm: Alarm; readonly at: number }>
  /** Bytes of inputs and results that the code was handed. */
  handedBytes: number
  /** Called with what became of its start. */
  onStarted: ((verdict: Verdict | Error) => void) | undefined
}

/** What a turn led to. */
export interface TurnOutput {
  readonly events: readonly Event[]
  /** Commands to be carried out once the turn is recorded. */
  readonly given: readonly IssuedCommand[]
  readonly taken: readonly number[]
  /** Commands that the code no longer waits for. */
  readonly dropped: readonly number[]
  readonly effects: Effects | null
}

/** Whether somebody else answers a command, by mail. */
export function waitsForMail({ tasks }: LiveInstance, { type, command }: CommandEvent): boolean {
  return type === 'receive' || type === 'child' || tasks?.has(command) === true
}

/** Children that are known to run when the code has ended, and go on without it. */
export function childrenLeft({ run, children }: LiveInstance): readonly number[] {
  if (run.outcome === undefined || run.open.size === 0) return NONE
  return [...run.open.keys()].filter((command) => children.has(command))
}

const NONE: readonly number[] = []

/** The last turn of its execution that is recorded, by which a store knows whether it has it. */
export function lastTurnOf({ turn, turnAt }: LiveInstance): {
  readonly turn: number
  readonly at: number
} {
  return { turn, at: turnAt }
}

/** What a load says about tasks of an instance takes the place of what was known. */
export function tasksOf({ tasks }: Loaded): LiveInstance['tasks'] {
  return tasks.length === 0 ? undefined : new Map(tasks.map((task) => [task.command, task]))
}

/** A copy of an instance that was read from the store. */
export function instanceOf(
  loaded: Loaded,
  definition: WorkflowDefinition,
  run: Execution,
  past: readonly PastTurn[],
  started: Started & { readonly input: string },
): LiveInstance {
  const last = loaded.history.at(-1)
  return {
    ...newLiveInstance({ ...loaded, definition, run, input: started.input, started }),
    execution: loaded.execution,
    turn: last?.turn ?? 0,
    seq: last === undefined ? 0 : last.first + last.count - 1,
    startedAt: loaded.history[0]?.at ?? 0,
    at: last?.at ?? 0,
    turnAt: last?.at ?? 0,
    handedBytes: loaded.history.reduce((sum, { events }) => sum + events.length, 0),
    past,
    tasks: tasksOf(loaded),
    reopened: true,
  }
}

/** A copy of an instance that is about to be started. */
export function newLiveInstance({
  iid,
  id,
  definition,
  run,
  input,
  started,
  parent,
}: Pick<
  LiveInstance,
  'iid' | 'id' | 'definition' | 'run' | 'input' | 'started' | 'parent'
>): LiveInstance {
  return {
    iid,
    id,
    definition,
    run,
    input,
    started,
    parent,
    execution: 1,
    epoch: 1,
    turn: 0,
    seq: 0,
    startedAt: 0,
    at: 0,
    turnAt: 0,
    state: 'resting',
    past: undefined,
    arrivals: [],
    mailbox: new Map(),
    unread: undefined,
    mailDue: false,
    known: new KnownRows(),
    hasMail: false,
    held: [],
    stale: [],
    stop: undefined,
    children: new Map(),
    writeState: () => started.state,
    lines: [],
    running: new Map(),
    tasks: undefined,
    newTasks: undefined,
    stepBeats: undefined,
    quarantined: false,
    superseded: false,
    isRolledBack: false,
    attempts: new Map(),
    reopened: false,
    alarms: new Map(),
    handedBytes: input.length,
    onStarted: undefined,
  }
}
