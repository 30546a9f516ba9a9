import type { InstanceRow, Loaded } from '../../store/workflow-store.ts'
import type { Values } from '../values.ts'
import type { InstanceInfo, Status } from './instance.ts'
import { waitingFor } from './waiting-for.ts'

/** What an instance is described with. */
export interface Onlooker {
  readonly values: Values
  /** The date, as this process knows it. */
  readonly now: number
  /** Whether this process is a runtime without the code of the instance. */
  readonly lacksCode: boolean
}

/** What people want to know of an instance, from its row and, while it is unfinished, the rest. */
export function describeInstance(
  row: InstanceRow,
  loaded: Pick<Loaded, 'history' | 'inbox'> | undefined,
  { values, now, lacksCode }: Onlooker,
): InstanceInfo {
  const failed = row.status === 'completed' ? null : (row.output ?? row.report)
  const error = failed === null ? undefined : values.error(failed)
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
      ...(lacksCode && isDue(row, now) ? [codeOf(row)] : []),
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

/** Whether somebody could take it up now, and nobody has. */
function isDue({ status, wakeAt }: InstanceRow, now: number): boolean {
  return status === 'running' && wakeAt !== null && wakeAt <= now
}

function codeOf({ workflow }: InstanceRow): string {
  const { name, version } = workflow
  return `a runtime that registers workflow "${name}" ${version} (this one does not)`
}

/** One that was only started from inside a workflow has no parent. */
function isChild({ parent }: InstanceRow): boolean {
  return parent !== null && parent.onClose !== 'independent'
}
