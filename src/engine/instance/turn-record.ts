import { errorToData } from '../../base/codec/error-data.ts'
import { CancelledError, isFailure } from '../../base/errors.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Event, type LifeEvent, writeEvents } from '../../store/history.ts'
import type { Ending } from '../../store/instances.ts'
import { terminatedError, WorkflowError } from '../core/errors.ts'
import { OverLimitError } from '../core/limits.ts'
import { instanceKeys } from '../core/log-keys.ts'
import type { Values } from '../core/values.ts'
import type { Stop } from './arrival.ts'
import type { ExecutionFacts, LiveInstance } from './live-instance.ts'

/** The row of history for the next turn of an instance; `null` when nothing happened. */
export function turnRow(instance: LiveInstance, events: readonly Event[]): TurnRow | null {
  if (events.length === 0) return null
  return {
    execution: instance.execution,
    turn: instance.turn + 1,
    at: instance.at,
    first: instance.seq + 1,
    count: events.length,
    events: writeEvents(events),
  }
}

/** The event that every execution begins with. */
export function startedEvent({
  definition,
  input,
  started,
}: Pick<ExecutionFacts, 'input' | 'started'> & {
  readonly definition: { readonly name: string; readonly version: string }
}): Extract<LifeEvent, { type: 'started' }> {
  const { name, version } = definition
  const { seed, parentId, state, trace } = started
  const traced = trace === undefined ? {} : { trace }
  return { type: 'started', workflow: name, version, input, seed, parentId, state, ...traced }
}

/**
 * How the instance ended; `undefined` while it has not, or continues as its next execution. Commands
 * that outlast the code are carried out first. Throws an `OverLimitError` if the result is too large.
 */
export function endOf(instance: LiveInstance, values: Values): Ending | undefined {
  const { outcome, cancelled, open } = instance.run
  if (outcome === undefined || open.size > 0) return undefined
  if (cancelled !== undefined) {
    return { status: 'cancelled', output: values.encodeError(new CancelledError(cancelled.reason)) }
  }
  if (outcome.kind === 'continued') return undefined
  try {
    if (outcome.kind === 'threw') throw outcome.error
    const label = `workflow "${instance.definition.name}": its result`
    const keys = (): object => instanceKeys(instance)
    const output = values.encode(outcome.value, label, 'resultBytes', keys)
    return { status: 'completed', output }
  } catch (error) {
    // What the code did is done: it must not be lost because of a limit that can be raised.
    if (error instanceof OverLimitError && outcome.kind === 'returned') throw error
    return { status: 'failed', output: values.encodeError(finalError(instance, error)) }
  }
}

/** The end of an instance without running its code. */
export function endAtOnce({ id, definition }: LiveInstance, stop: Stop, values: Values): Ending {
  const { status, reason } = stop
  const error =
    status === 'cancelled'
      ? new CancelledError(reason)
      : terminatedError(id, definition.name, reason)
  return { status, output: values.encodeError(error) }
}

/** A failure crosses as itself; anything else is wrapped, with what was thrown as its cause. */
export function finalError({ id, definition }: LiveInstance, error: unknown): unknown {
  if (isFailure(error)) return error
  const { name, message } = errorToData(error)
  return new WorkflowError(
    `workflow "${definition.name}" failed: ${message}`,
    { instanceId: id, workflow: definition.name, originalName: name },
    { cause: error },
  )
}
