// A workflow's code as an execution of its own, for tests that need no store.

import { callCode, type ContextHost } from '../../src/engine/context/make-context.ts'
import type { WorkflowContext } from '../../src/engine/define/workflow-context.ts'
import { workflow, type WorkflowDefinition } from '../../src/engine/define/definitions.ts'
import { Execution } from '../../src/engine/replay/execution.ts'
import { NondeterminismError } from '../../src/engine/replay/nondeterminism.ts'
import type { PastTurn } from '../../src/engine/replay/replay.ts'
import { type ExecutionFacts, LiveInstance } from '../../src/engine/instance/live-instance.ts'
import type { TurnOutput } from '../../src/engine/instance/turn-output.ts'
import { untilDone } from '../../src/engine/replay/current-turn.ts'
import { type Begin, takeTurn as turnOf } from '../../src/engine/instance/turn.ts'
import type { Arrival } from '../../src/engine/instance/arrival.ts'
import { endOf, turnRow } from '../../src/engine/instance/turn-record.ts'
import { silentLog } from '../../src/base/log.ts'
import { DEFAULT_LIMITS, LimitGuard } from '../../src/engine/core/limits.ts'
import { valuesOf } from '../../src/engine/core/values.ts'
import type { Event } from '../../src/store/history.ts'
import type { InboxRow } from '../../src/store/inbox.ts'
import { memoryLog } from './workers.ts'

/** The code of a workflow under test. */
export type Code = (ctx: WorkflowContext) => Promise<unknown>

export const values = valuesOf(undefined)
/** What code under test has logged. */
export const logged = memoryLog()

/** What code under test reaches: no code of others, and small limits. */
export const host: ContextHost = {
  values,
  log: logged,
  guard: new LimitGuard(
    { ...DEFAULT_LIMITS, stateKeys: 10, stateValueBytes: 1_000, progressBytes: 1_000 },
    silentLog,
    () => 0,
  ),
  registry: { activity: () => undefined, latest: () => undefined, learn: () => {} },
  serves: () => true,
}

export const SEED = '0123456789abcdef0123456789abcdef'
export const OTHER_SEED = 'fedcba9876543210fedcba9876543210'

/** Calls code as `takeTurn` wants it called. */
export function beginWith(code: Code): Begin {
  return (instance) => () => callCode(instance, host, code)
}

/** An instance, new or with a past; `given` is what is not as usual about it. */
export function testInstance(
  id: string,
  past?: readonly PastTurn[],
  given: Partial<Pick<ExecutionFacts, 'iid' | 'execution' | 'started' | 'parent'>> = {},
): LiveInstance {
  const facts: ExecutionFacts = {
    iid: 1,
    id,
    definition: workflow('test', async () => {}) as unknown as WorkflowDefinition,
    run: new Execution(`instance "${id}"`, values),
    input: 'null',
    started: { seed: SEED, parentId: '', state: '' },
    parent: null,
    execution: 1,
    ...given,
  }
  if (past === undefined) return new LiveInstance(facts)
  let first = 1
  const history = past.map(({ at, events }, i) => {
    const row = { execution: facts.execution, turn: i + 1, at, first, count: events.length }
    first += events.length
    return { ...row, events: '' }
  })
  const { iid, execution, parent } = facts
  const rest = { workflow: { name: 'test', version: '1.0.0' }, inbox: [], tasks: [] }
  return LiveInstance.loaded(facts, { iid, id, execution, parent, history, ...rest }, past)
}

/** An instance whose past is one turn with these events. */
export function instanceWithPast(...events: Event[]): LiveInstance {
  return testInstance('i', [{ at: 1, events: [STARTED, ...events] }])
}

/** The execution that follows one that continued as new. */
export function nextExecution(instance: LiveInstance): LiveInstance {
  const { parentId } = instance.started
  const started = { seed: OTHER_SEED, parentId, state: instance.writeState() }
  return testInstance(instance.id, undefined, { execution: instance.execution + 1, started })
}

/** Code while it is played. */
export interface Player {
  readonly instance: LiveInstance
  /** What is recorded so far. */
  readonly past: readonly PastTurn[]
  readonly turn: (at: number, ...events: Arrival['event'][]) => Promise<TurnOutput>
}

/** Takes turns of one instance with the same code. */
export function play(code: Code, instance = testInstance('i')): Player {
  const past = [...(instance.past ?? [])]
  return {
    instance,
    past,
    async turn(at, ...events) {
      instance.inbox.arrive(...events.map((event) => ({ event })))
      const result = await takeTurn(instance, at, beginWith(code))
      instance.committed(turnRow(instance, result.events), [])
      if (result.events.length > 0) past.push({ at: instance.at, events: result.events })
      return result
    },
  }
}

/** The same instance in another process: it has only what is recorded. */
export function restart(code: Code, { instance, past }: Player): Player {
  const { id, execution, started, parent } = instance
  return play(code, testInstance(id, [...past], { execution, started, parent }))
}

/** Why code cannot repeat these events. */
export async function refusal(code: Code, ...events: Event[]): Promise<NondeterminismError> {
  const error: unknown = await takeTurn(instanceWithPast(...events), 2, beginWith(code)).then(
    () => new Error('it was repeated without complaint'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof NondeterminismError) return error
  throw error
}

/** What became of an execution. */
export function statusOf(instance: LiveInstance): string {
  const end = endOf(instance, values)
  if (end !== undefined) return end.status
  return instance.run.outcome?.kind === 'continued' ? 'continued' : 'running'
}

/** What callers that wait for an instance get, as it crosses to them. */
export function errorOf(instance: LiveInstance): Error {
  return values.error(endOf(instance, values)!.output)
}

let lastRow = 0

/** Something arrives in the inbox of an instance. */
export function post(instance: LiveInstance, ...rows: Partial<InboxRow>[]): void {
  instance.inbox.receive(rows.map((row) => ({ ...EMPTY_ROW, id: ++lastRow, ...row })))
}

const EMPTY_ROW = {
  kind: 'message',
  execution: 0,
  command: 0,
  name: '',
  replyTo: '',
  payload: 'null',
  parked: false,
} as const

/** A message for a channel. */
export const mail = (name: string, value: unknown): Partial<InboxRow> => ({
  name,
  payload: values.encode(value, 'message'),
})

/** Commands as history has them. */
export const recorded = {
  activity: (command: number, name: string, input?: unknown) =>
    ({
      type: 'activity',
      command,
      name,
      input: values.encode(input, 'input'),
      where: 'local',
      tag: '',
      session: '',
    }) as const,
  step: (command: number, name: string) => ({ type: 'step', command, name }) as const,
  timer: (command: number, fireAt: number) => ({ type: 'timer', command, fireAt }) as const,
  receive: (command: number, name: string, until = 0) =>
    ({ type: 'receive', command, name, until }) as const,
  child: (command: number, name: string, input: unknown, id = childId(command)) =>
    ({
      type: 'child',
      command,
      workflow: name,
      // None is registered: the runtime that claims it decides.
      version: '',
      id,
      input: values.encode(input, 'input'),
      options: JSON.stringify({
        onParentClose: 'cancel',
        ...(id === childId(command) && { ownId: true }),
      }),
    }) as const,
  start: (command: number, name: string, input: unknown, id: string) =>
    ({
      type: 'start',
      command,
      workflow: name,
      // None is registered: the runtime that claims it decides.
      version: '',
      id,
      input: values.encode(input, 'input'),
      options: '{"onConflict":"return","delayMs":0}',
    }) as const,
}

/** What a child is called that was given no id. */
export function childId(command: number, execution = 1): string {
  return `i/${execution}.${command}.${SEED.slice(0, 6)}`
}

/** Results of commands, as history has them. */
export const completed = (command: number, value: unknown = null) =>
  ({ type: 'completed', command, value: values.encode(value, 'value') }) as const
export const failed = (command: number, error: unknown) =>
  ({ type: 'failed', command, error: values.encodeError(error) }) as const
export const fired = (command: number) => ({ type: 'fired', command }) as const
export const received = (command: number, value: unknown, replyTo = '') =>
  ({ type: 'received', command, value: values.encode(value, 'value'), replyTo }) as const
export const cancelled = (reason = '') =>
  ({ type: 'cancelled', reason: JSON.stringify(reason) }) as const
export const dropped = (command: number) => ({ type: 'dropped', command }) as const
export const set = (key: string, value: unknown) =>
  ({ type: 'set', key, value: values.encode(value, 'value') }) as const

export { channel, request, stateKey } from '../../src/engine/define/channels.ts'
export { activity, workflow } from '../../src/engine/define/definitions.ts'
export { ActivityError, WorkflowError } from '../../src/engine/core/errors.ts'
export { readInstance } from '../../src/engine/instance/read-instance.ts'
export { turnRow }
export { locateMismatch } from '../../src/engine/instance/turn.ts'

/** Takes a turn of an instance by itself. */
export function takeTurn(...given: Parameters<typeof turnOf>): Promise<TurnOutput> {
  return untilDone(turnOf(...given))
}
export type { Branch, WorkflowContext } from '../../src/engine/define/workflow-context.ts'

/** The first event of every history here. */
export const STARTED: Extract<Event, { type: 'started' }> = {
  type: 'started',
  workflow: 'test',
  version: '1.0.0',
  input: 'null',
  seed: SEED,
  parentId: '',
  state: '',
}
