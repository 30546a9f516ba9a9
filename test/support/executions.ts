// A workflow's code as an execution of its own, for tests that need no store.

import { silentLog } from '../../src/base/log.ts'
import { type ContextHost, makeContext } from '../../src/engine/context/make-context.ts'
import type { WorkflowContext } from '../../src/engine/context/workflow-context.ts'
import { workflow, type WorkflowDefinition } from '../../src/engine/definitions.ts'
import { Execution } from '../../src/engine/replay/execution.ts'
import type { PastTurn } from '../../src/engine/replay/replay.ts'
import { type Copy, newCopy } from '../../src/engine/runtime/copy.ts'
import { type Begin, takeTurn } from '../../src/engine/runtime/take-turn.ts'
import type { Arrival, TurnResult } from '../../src/engine/runtime/copy.ts'
import { valuesOf } from '../../src/engine/values.ts'
import type { Event } from '../../src/store/history.ts'

/** The code of a workflow under test. */
export type Code = (ctx: WorkflowContext) => Promise<unknown>

export const values = valuesOf(undefined)
const host: ContextHost = { values, log: silentLog, activity: () => undefined }

/** Calls code as `takeTurn` wants it called. */
export function beginWith(code: Code): Begin {
  return (copy) => () => code(makeContext(copy, host))
}

/** A copy of an instance, new or with a past. */
export function testCopy(id: string, past?: readonly PastTurn[]): Copy {
  const definition = workflow('test', async () => {}) as unknown as WorkflowDefinition
  const copy = newCopy(1, id, definition, new Execution(`instance "${id}"`, values), 'null')
  if (past === undefined) return copy
  copy.past = past
  copy.turn = past.length
  copy.at = past.at(-1)?.at ?? 0
  copy.reopened = true
  return copy
}

/** Takes turns of one copy with the same code. */
export function play(
  code: Code,
  copy = testCopy('i'),
): {
  readonly copy: Copy
  readonly turn: (at: number, ...events: Arrival['event'][]) => Promise<TurnResult>
} {
  return {
    copy,
    async turn(at, ...events) {
      copy.arrivals.push(...events.map((event) => ({ event })))
      const result = await takeTurn(copy, at, beginWith(code))
      copy.turn++
      return result
    },
  }
}

/** Results of commands, as they stand in history. */
export const completed = (command: number, value: unknown = null) =>
  ({ type: 'completed', command, value: values.encode(value, 'value') }) as const
export const failed = (command: number, error: unknown) =>
  ({ type: 'failed', command, error: values.encodeError(error) }) as const
export const fired = (command: number) => ({ type: 'fired', command }) as const

export { activity } from '../../src/engine/definitions.ts'
export { locateMismatch, takeTurn } from '../../src/engine/runtime/take-turn.ts'
export type { WorkflowContext } from '../../src/engine/context/workflow-context.ts'

/** The first event of every history here. */
export const STARTED: Event = {
  type: 'started',
  workflow: 'test',
  version: '1.0.0',
  input: 'null',
}
