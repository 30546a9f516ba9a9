import type { Loaded } from '../../store/claims.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Event, readEvents } from '../../store/history.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { Execution } from '../replay/execution.ts'
import { type ExecutionFacts, LiveInstance } from './live-instance.ts'

/** An instance that was read from the store; with an error when its history is invalid. */
export function readInstance(
  loaded: Loaded,
  definition: WorkflowDefinition,
  run: Execution,
): { readonly instance: LiveInstance; readonly error?: unknown } {
  const { iid, id, parent, execution } = loaded
  const facts = (input: string, started: ExecutionFacts['started']): ExecutionFacts => ({
    iid,
    id,
    definition,
    run,
    input,
    started,
    parent,
    execution,
  })
  try {
    const past = loaded.history.map(readTurn)
    const [started] = past[0]?.events ?? []
    if (started?.type !== 'started') throw new Error('history does not begin with "started"')
    return { instance: LiveInstance.loaded(facts(started.input, started), loaded, past) }
  } catch (error) {
    return { instance: LiveInstance.unreadable(facts('', NOTHING), loaded), error }
  }
}

const NOTHING = { seed: '', parentId: '', state: '' }

/** The events of a turn; an error says which turn it is. */
export function readTurn({ execution, turn, at, events }: TurnRow): {
  at: number
  events: Event[]
} {
  try {
    return { at, events: readEvents(events) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`turn ${turn} of execution ${execution} cannot be read: ${reason}`, {
      cause: error,
    })
  }
}
