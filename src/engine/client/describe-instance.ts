import type { Loaded } from '../../store/claims.ts'
import { type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import type { InstanceInfo, Status } from '../define/instance.ts'
import type { Observation } from './describe-activity.ts'
import { waitingFor } from './waiting-for.ts'

/** What an instance is described with. */
export interface InstanceObservation extends Observation {
  readonly place: Place
}

/** Whether the process that looks could take the instance up itself. A client runs nothing. */
export type Place = 'has code' | 'lacks code' | 'runs nothing'

/** What people want to know of an instance, from its row and, while it is unfinished, the rest. */
export function describeInstance(
  row: InstanceRow,
  loaded: Pick<Loaded, 'history' | 'inbox'> | undefined,
  observation: InstanceObservation,
): InstanceInfo {
  const { values } = observation
  const failed = row.status === 'completed' ? null : (row.output ?? row.report)
  const error = failed === null ? undefined : values.error(failed)
  const runtime = awaitedRuntime(row, observation)
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
      ...(row.status === 'scheduled' ? startOf(row, observation) : []),
      ...(isUnfinished(row) && loaded !== undefined ? openWaits(loaded, observation) : []),
    ],
    ...(row.status === 'completed' && row.output !== null && { output: values.value(row.output) }),
    ...(error && { error: { name: error.name, message: error.message } }),
  }
}

/** What it waits for; nobody knows when this version cannot read what there is of it. */
function openWaits(
  loaded: Pick<Loaded, 'history' | 'inbox'>,
  observation: Observation,
): readonly string[] {
  try {
    return waitingFor(loaded, observation)
  } catch (error) {
    return [
      `a runtime that can read it (${error instanceof Error ? error.message : String(error)})`,
    ]
  }
}

/** When it begins, if that is for later. */
function startOf({ wakeAt }: InstanceRow, { now }: InstanceObservation): readonly string[] {
  return wakeAt !== null && wakeAt > now ? [`its start at ${new Date(wakeAt).toISOString()}`] : []
}

function isUnfinished({ status }: InstanceRow): boolean {
  return status === 'running' || status === 'scheduled'
}

/** The runtime that an instance waits for that is due, unless this process can take it up itself. */
function awaitedRuntime(
  row: InstanceRow,
  { now, place, whereabouts }: InstanceObservation,
): string | undefined {
  const { wakeAt, workflow } = row
  // Whoever takes it up clears its time.
  const isDue = isUnfinished(row) && wakeAt !== null && wakeAt <= now
  if (!isDue || place === 'has code') return undefined
  const { name, version } = workflow
  const code = `workflow "${name}"${version === NO_VERSION ? '' : ` ${version}`}`
  if (whereabouts.runtimes.some(({ registers }) => registers)) {
    return `a runtime that registers ${code} to take it up`
  }
  const here = place === 'lacks code' ? ', this one neither' : ''
  return `a runtime that registers ${code} (no live runtime does${here})`
}

/** One that was only started from inside a workflow has no parent. */
function isChild({ parent }: InstanceRow): boolean {
  return parent !== null && parent.onClose !== 'independent'
}
