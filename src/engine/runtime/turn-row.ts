import { errorToData } from '../../base/error-data.ts'
import { isFailure } from '../../base/errors.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import type { Ending, TurnRow } from '../../store/workflow-store.ts'
import { WorkflowError } from '../errors.ts'
import type { Values } from '../values.ts'
import type { Copy } from './copy.ts'

/** The row of history for the next turn of a copy; `null` when nothing happened. */
export function turnRow(copy: Copy, events: readonly Event[]): TurnRow | null {
  if (events.length === 0) return null
  return {
    execution: copy.generation,
    turn: copy.turn + 1,
    at: copy.at,
    first: copy.seq + 1,
    count: events.length,
    events: writeEvents(events),
  }
}

/** The event that every execution begins with. */
export function startedEvent({ definition, input }: Pick<Copy, 'definition' | 'input'>): Event {
  const { name, version } = definition
  return { type: 'started', workflow: name, version, input }
}

/** How the code ended; `undefined` while it has not. */
export function endOf(copy: Copy, values: Values): Ending | undefined {
  const { outcome } = copy.run
  if (outcome === undefined) return undefined
  try {
    if (!outcome.ok) throw outcome.error
    const label = `workflow "${copy.definition.name}": its result`
    return { status: 'completed', output: values.encode(outcome.value, label) }
  } catch (error) {
    return { status: 'failed', output: values.encodeError(finalError(copy, error)) }
  }
}

/** A failure crosses as itself; anything else is wrapped, with what was thrown as its cause. */
function finalError({ id, definition }: Copy, error: unknown): unknown {
  if (isFailure(error)) return error
  const { name, message } = errorToData(error)
  return new WorkflowError(
    `workflow "${definition.name}" failed: ${message}`,
    { instanceId: id, workflow: definition.name, originalName: name },
    { cause: error },
  )
}
