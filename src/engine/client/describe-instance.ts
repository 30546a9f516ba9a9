import type { Event } from '../../store/history.ts'
import { readEvents } from '../../store/history.ts'
import type { InstanceRow, TurnRow } from '../../store/workflow-store.ts'
import type { Values } from '../values.ts'
import type { InstanceInfo } from './instance.ts'

/** What people want to know of an instance, from its row and its history. */
export function describeInstance(
  row: InstanceRow,
  history: readonly TurnRow[],
  values: Values,
): InstanceInfo {
  const failed = row.status === 'failed' ? row.output : row.report
  const error = failed === null ? undefined : values.error(failed)
  return {
    id: row.id,
    workflow: row.workflow.name,
    version: row.workflow.version,
    status: row.status,
    execution: row.execution,
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    ...(row.finishedAt !== null && { finishedAt: new Date(row.finishedAt) }),
    waitingFor: row.status === 'running' ? waitingFor(history) : [],
    ...(error && { error: { name: error.name, message: error.message } }),
  }
}

/** The open commands of a history, in words. Nothing is run for it. */
export function waitingFor(history: readonly TurnRow[]): readonly string[] {
  const open = new Map<number, Waits>()
  for (const { events } of history) {
    for (const event of readEvents(events)) note(open, event)
  }
  return [...open.values()].map(({ what, since = '' }) => what + since)
}

/** An open command, and what has become of it so far. */
interface Waits {
  readonly what: string
  readonly since?: string
}

function note(open: Map<number, Waits>, event: Event): void {
  switch (event.type) {
    case 'activity':
    case 'step':
      open.set(event.command, { what: `${event.type} "${event.name}"` })
      return
    case 'timer':
      open.set(event.command, { what: `timer until ${new Date(event.fireAt).toISOString()}` })
      return
    case 'attempt': {
      const known = open.get(event.command)
      const when = new Date(event.retryAt).toISOString()
      const since = ` (attempt ${event.attempt} failed, next at ${when})`
      if (known !== undefined) open.set(event.command, { ...known, since })
      return
    }
    case 'completed':
    case 'failed':
    case 'fired':
      open.delete(event.command)
      return
    case 'started':
    case 'ended':
  }
}
