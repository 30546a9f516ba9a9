// Replays recorded histories with the code of today. Nothing that the code asks for is carried out: no
// activity and no step runs, no message is sent, no store is written to.

import { defaultLog } from '../../base/log.ts'
import type { TurnRow } from '../../store/commits.ts'
import type { CommandEvent, Event, InputEvent } from '../../store/history.ts'
import type { WorkflowName } from '../../store/instances.ts'
import type { ContextHost } from '../../engine/context/make-context.ts'
import { DEFAULT_LIMITS, LimitGuard, type Limits } from '../../engine/core/limits.ts'
import { toError } from '../../engine/core/to-error.ts'
import { watchUnhandledRejections } from '../../engine/core/unhandled-rejections.ts'
import type { Values } from '../../engine/core/values.ts'
import type { WorkflowDefinition } from '../../engine/define/definitions.ts'
import type { Registry } from '../../engine/define/registry.ts'
import type { LiveInstance } from '../../engine/instance/live-instance.ts'
import { readInstance } from '../../engine/instance/read-instance.ts'
import { type Begin, locateMismatch, rehearse } from '../../engine/instance/turn.ts'
import { Execution } from '../../engine/replay/execution.ts'
import { mismatchOf, NondeterminismError } from '../../engine/replay/nondeterminism.ts'
import type { Mismatch } from '../../engine/replay/nondeterminism.ts'
import { sourceLine } from '../../base/source-line.ts'
import { beginTurn, drained, endTurn } from '../../engine/replay/current-turn.ts'
import { guardGlobals } from '../../engine/runtime/guard-globals.ts'
import { codeCaller } from '../../engine/runtime/schedule/call-code.ts'
import { isCommand, isSameCall, type Recorded } from './calls.ts'

/** One execution as it was recorded. */
export interface RecordedHistory {
  readonly id: string
  readonly workflow: WorkflowName
  readonly execution: number
  readonly turns: readonly TurnRow[]
  /** Whether its values were replaced, so that only kinds and names can be compared. */
  readonly isRedacted?: boolean
}

/** Why the code of today cannot continue an execution. */
export interface Breakage {
  /**
   * `mismatch`: the code asks for something else than history has. `broken-rule`: it does what cannot be
   * replayed. `unreadable`: history cannot be read.
   */
  readonly kind: 'mismatch' | 'broken-rule' | 'unreadable'
  /** As the report of the suspended instance would say it. */
  readonly message: string
  /** Where in the code, if that is known: a line of a stack. */
  readonly line: string
  /** The number of the command; 0 if it is not about one. */
  readonly position: number
  readonly mismatch?: Mismatch
  /** Whether the code still asks for the recorded command, beside or after what it asks for now. */
  readonly asksLater: boolean
  /** The events of the history. */
  readonly events: readonly Event[]
}

// Nothing of the code is stored, so that no limit of a runtime matters.
const NO_LIMITS = Object.fromEntries(
  Object.keys(DEFAULT_LIMITS).map((name) => [name, Infinity]),
) as unknown as Limits

/** Replays histories with the registered code. Close it when done. */
export class Rehearsals {
  readonly #values: Values
  readonly #begin: Begin
  readonly #close: readonly (() => void)[]

  constructor(registry: Registry, values: Values) {
    const context: ContextHost = {
      values,
      // Lines of the code are written when a turn is committed, which never happens.
      log: defaultLog,
      guard: new LimitGuard(NO_LIMITS, defaultLog, () => 0),
      registry,
      serves: () => true,
    }
    this.#values = values
    this.#begin = codeCaller(context)
    this.#close = [guardGlobals(), watchUnhandledRejections()]
  }

  /** Replays one history; returns what breaks, or `undefined`. */
  async replay(
    history: RecordedHistory,
    definition: WorkflowDefinition,
  ): Promise<Breakage | undefined> {
    const run = this.#execution(history, definition)
    const loaded = {
      ...history,
      iid: 0,
      parent: null,
      history: history.turns,
      inbox: [],
      tasks: [],
    }
    const { instance, error } = readInstance(loaded, definition, run)
    if (error !== undefined) {
      const { message } = toError(error)
      return { kind: 'unreadable', message, line: '', position: 0, asksLater: false, events: [] }
    }
    try {
      await rehearse(instance, this.#begin)
      return undefined
    } catch (thrown) {
      return await this.#explain(history, instance, thrown)
    } finally {
      run.drop()
    }
  }

  /** Ends what guards the process meanwhile. */
  close(): void {
    for (const close of this.#close) close()
  }

  #execution(
    { id, isRedacted = false }: Pick<RecordedHistory, 'id' | 'isRedacted'>,
    { name, version }: WorkflowDefinition,
  ): Execution {
    const label = `instance "${id}" of workflow "${name}" ${version}`
    const execution = new Execution(label, this.#values)
    if (isRedacted) execution.ignoreValues()
    return execution
  }

  async #explain(
    history: RecordedHistory,
    instance: LiveInstance,
    thrown: unknown,
  ): Promise<Breakage> {
    const events = (instance.past ?? []).flatMap((turn) => turn.events)
    const run = this.#execution(history, instance.definition)
    try {
      const twin = instance.twin(run, instance.past)
      const located = await locateMismatch(twin, this.#begin, thrown as Error)
      const { message, stack = '' } = located
      if (!(located instanceof NondeterminismError)) {
        // The message of a guarded call names its line; the stack of any other leads into the engine.
        const line =
          /\bat .*:\d+:\d+\)?/.exec(message)?.[0] ?? sourceLine(stack.replace(message, ''))
        return { kind: 'broken-rule', message, line, position: 0, asksLater: false, events }
      }
      const mismatch = mismatchOf(located)
      return {
        kind: 'mismatch',
        message,
        line: mismatch?.line ?? '',
        position: located.position,
        ...(mismatch && { mismatch }),
        asksLater: mismatch !== undefined && (await asksLater(run, mismatch, this.#values, events)),
        events,
      }
    } finally {
      run.drop()
    }
  }
}

/**
 * Whether the code, where it asks for something else than history has, or for nothing, still asks for what
 * history has: at the same time, or once it has what it waits for. What it would get is known only for what
 * history has, too; `undefined` is good enough to tell an added command from one that replaces another,
 * unless the code cannot do with it.
 */
async function asksLater(
  run: Execution,
  { recorded, given, isLater, does }: Mismatch,
  values: Values,
  events: readonly Event[],
): Promise<boolean> {
  if (isLater === true) return true
  if (recorded === undefined || !isCommand(recorded)) return false
  // Those before the recorded command are in history already.
  const isRecorded = (event: CommandEvent): boolean =>
    event !== given && event.command >= recorded.command && isSameCall(event, recorded)
  if ([...run.open.values()].some(({ event }) => isRecorded(event))) return true
  const waiting = waitingFor(run, given, recorded, does)
  if (waiting.length === 0) return false
  await beginTurn(run)
  try {
    for (const event of waiting) {
      if (!run.open.has(event.command)) continue
      run.apply(answerTo(event, given === undefined ? events : [], values))
      await drained
      if (run.take().given.some((issued) => isRecorded(issued.event))) return true
    }
    return false
  } finally {
    endTurn()
  }
}

/** The commands whose results may make the code ask for the recorded one. */
function waitingFor(
  run: Execution,
  given: Recorded | undefined,
  recorded: CommandEvent,
  does: Mismatch['does'],
): readonly CommandEvent[] {
  if (given !== undefined) {
    const issued = isCommand(given) ? run.open.get(given.command) : undefined
    return issued === undefined ? [] : [issued.event]
  }
  // A timer has no name: that there is one later says nothing.
  if (does !== 'waits' || recorded.type === 'timer') return []
  return [...run.open.values()].map(({ event }) => event)
}

/** The result of a command according to history, or one that is made up. */
function answerTo(
  { command, type }: CommandEvent,
  events: readonly Event[],
  values: Values,
): InputEvent {
  const known = events.find(
    (event): event is InputEvent =>
      INPUTS.has(event.type) && 'command' in event && event.command === command,
  )
  if (known !== undefined) return known
  if (type === 'timer') return { type: 'fired', command }
  const value = values.encode(undefined, 'result')
  if (type === 'receive') return { type: 'received', command, value, replyTo: '' }
  return { type: 'completed', command, value }
}

const INPUTS: ReadonlySet<string> = new Set<InputEvent['type']>([
  'completed',
  'failed',
  'fired',
  'received',
])
