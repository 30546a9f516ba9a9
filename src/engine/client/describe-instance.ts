import type { Loaded } from '../../store/claims.ts'
import { type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import type { Values } from '../values.ts'
import type { InstanceInfo, Status } from './instance.ts'
import { waitingFor } from './waiting-for.ts'

/** What an instance is described with. */
export interface Onlooker {
  readonly values: Values
  /** The date, as this process knows it. */
  readonly now: number
  readonly place: Place
}

/** Whether the process that looks could take the instance up itself. A client runs nothing. */
export type Place = 'has code' | 'lacks code' | 'runs nothing'

/** What people want to know of an instance, from its row and, while it is unfinished, the rest. */
export function describeInstance(
  row: InstanceRow,
  loaded: Pick<Loaded, 'history' | 'inbox'> | undefined,
  { values, now, place }: Onlooker,
): InstanceInfo {
  const failed = row.status === 'completed' ? null : (row.output ?? row.report)
  const error = failed === null ? undefined : values.error(failed)
  const runtime = awaitedRuntime(row, now, place)
  return {
    id: row.id,
    workflow: row.workflow.name,
    version: row.workflow.version,
    status: row.status as Status,
    progress: row.progress === null ? undefined : values.value(row.progress),
    execution: row.execution,
    labels: JSON.parse(row.labels) as Record<string, string>,
    ...(isChild(row) && { parentId: row.parent!.id }),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    ...(row.finishedAt !== null && { finishedAt: new Date(row.finishedAt) }),
    waitingFor: [
      ...(runtime === undefined ? [] : [runtime]),
      ...(row.status === 'scheduled' ? [startOf(row)] : []),
      ...(row.status === 'running' && loaded !== undefined ? openWaits(loaded) : []),
    ],
    ...(error && { error: { name: error.name, message: error.message } }),
  }
}

/** What it waits for; nobody knows when this version cannot read what there is of it. */
function openWaits(loaded: Pick<Loaded, 'history' | 'inbox'>): readonly string[] {
  try {
    return waitingFor(loaded)
  } catch (error) {
    return [
      `a runtime that can read it (${error instanceof Error ? error.message : String(error)})`,
    ]
  }
}

function startOf({ wakeAt }: InstanceRow): string {
  return `its start at ${new Date(wakeAt ?? 0).toISOString()}`
}

/** The runtime that an instance waits for that is due, if this process is not the one. */
export function awaitedRuntime(
  { status, wakeAt, workflow }: InstanceRow,
  now: number,
  place: Place,
): string | undefined {
  // Whoever takes it up clears its time.
  const isDue = status === 'running' && wakeAt !== null && wakeAt <= now
  if (!isDue || place === 'has code') return undefined
  const { name, version } = workflow
  const words = `a runtime that registers workflow "${name}"${version === NO_VERSION ? '' : ` ${version}`}`
  return place === 'lacks code' ? `${words} (this one does not)` : words
}

/** One that was only started from inside a workflow has no parent. */
function isChild({ parent }: InstanceRow): boolean {
  return parent !== null && parent.onClose !== 'independent'
}
