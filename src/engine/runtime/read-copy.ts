import { readEvents } from '../../store/history.ts'
import type { Loaded } from '../../store/workflow-store.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import type { Execution } from '../replay/execution.ts'
import { type Arrival, type Copy, copyOf } from './copy.ts'

/** A copy of an instance that was read; with an error when its history cannot be understood. */
export function readCopy(
  loaded: Loaded,
  definition: WorkflowDefinition,
  run: Execution,
): { readonly copy: Copy; readonly error?: unknown } {
  try {
    const past = loaded.history.map(({ at, events }) => ({ at, events: readEvents(events) }))
    const [started] = past[0]?.events ?? []
    if (started?.type !== 'started') throw new Error('history: it does not begin with "started"')
    return { copy: copyOf(loaded, definition, run, past, started.input) }
  } catch (error) {
    const copy = copyOf(loaded, definition, run, [], '')
    // It is recorded, whatever its history says.
    copy.turn = Math.max(1, copy.turn)
    return { copy, error }
  }
}

/** What waits in the inbox of an instance; throws when it cannot be understood. */
export function inboxArrivals(loaded: Loaded): Arrival[] {
  return loaded.inbox
    .filter((row) => row.execution === loaded.execution)
    .flatMap((row) => {
      const [event] = readEvents(row.payload)
      return event?.type === 'completed' || event?.type === 'failed'
        ? [{ event, inboxId: row.id }]
        : []
    })
}
