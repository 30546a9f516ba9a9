import type { Event } from '../../store/history.ts'
import type { Iid, Loaded, Verdict } from '../../store/workflow-store.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import type { Execution, Given } from '../replay/execution.ts'
import type { OpenAttempt, PastTurn } from '../replay/replay.ts'
import type { Attempt } from './activities.ts'
import type { Alarm } from './alarms.ts'

/** Something that arrived for an instance and will be part of its next turn. */
export interface Arrival {
  readonly event: Extract<Event, { type: 'completed' | 'failed' | 'fired' | 'attempt' }>
  /** The inbox row it came from. */
  readonly inboxId?: number
}

/** An instance in memory: its code, waiting. */
export interface Copy {
  readonly iid: Iid
  readonly id: string
  readonly definition: WorkflowDefinition
  readonly run: Execution
  /** Encoded, as it was started. */
  readonly input: string
  readonly generation: number
  epoch: number
  /** Last recorded turn; 0 before the first. */
  turn: number
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
  /** Log lines of the turn, written when it is recorded. */
  lines: (() => void)[]
  /** Activities and steps that run or wait for a slot here. */
  readonly running: Map<number, Attempt>
  /** Failed attempts of commands that are open. */
  attempts: Map<number, OpenAttempt>
  /** True when what is open has to be taken up again: after a replay, or a release. */
  reopened: boolean
  /** Timers and later attempts, by command. */
  readonly alarms: Map<number, { readonly alarm: Alarm; readonly at: number }>
  /** Bytes of inputs and results that the code was handed. */
  handedBytes: number
  /** Called with what became of its start. */
  started: ((verdict: Verdict | Error) => void) | undefined
}

/** What a turn led to. */
export interface TurnResult {
  readonly events: readonly Event[]
  /** Commands to be carried out once the turn is recorded. */
  readonly given: readonly Given[]
  readonly taken: readonly number[]
}

/** A copy of an instance that was read from the store. */
export function copyOf(
  loaded: Loaded,
  definition: WorkflowDefinition,
  run: Execution,
  past: readonly PastTurn[],
  input: string,
): Copy {
  const last = loaded.history.at(-1)
  return {
    ...newCopy(loaded.iid, loaded.id, definition, run, input),
    generation: loaded.execution,
    turn: last?.turn ?? 0,
    seq: last === undefined ? 0 : last.first + last.count - 1,
    startedAt: loaded.history[0]?.at ?? 0,
    at: last?.at ?? 0,
    handedBytes: loaded.history.reduce((sum, { events }) => sum + events.length, 0),
    past,
    reopened: true,
  }
}

/** A copy of an instance that is about to be started. */
export function newCopy(
  iid: Iid,
  id: string,
  definition: WorkflowDefinition,
  run: Execution,
  input: string,
): Copy {
  return {
    iid,
    id,
    definition,
    run,
    input,
    generation: 1,
    epoch: 1,
    turn: 0,
    seq: 0,
    startedAt: 0,
    at: 0,
    state: 'resting',
    past: undefined,
    arrivals: [],
    lines: [],
    running: new Map(),
    attempts: new Map(),
    reopened: false,
    alarms: new Map(),
    handedBytes: input.length,
    started: undefined,
  }
}
