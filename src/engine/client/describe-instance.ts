import type { Loaded } from '../../store/claims.ts'
import { type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import type { InstanceInfo, Status } from '../define/instance.ts'
import type { Observation } from './describe-activity.ts'
import { waitingFor } from './waiting-for.ts'

/** What this process knows about an instance besides its row. */
export interface InstanceObservation extends Observation {
  readonly place: Place
}

/** Whether this process could run the instance. A client without a runtime runs nothing. */
export type Place = 'has code' | 'lacks code' | 'runs nothing'

/** Builds the `InstanceInfo` from the row and, until the instance ends, from its history and inbox. */
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

/** What it waits for, or that this version of Holdfast cannot read its history. */
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

/** The time of a delayed start. */
function startOf({ wakeAt }: InstanceRow, { now }: InstanceObservation): readonly string[] {
  return wakeAt !== null && wakeAt > now ? [`its start at ${new Date(wakeAt).toISOString()}`] : []
}

function isUnfinished({ status }: InstanceRow): boolean {
  return status === 'running' || status === 'scheduled'
}

/** The runtime that a due instance waits for, unless this process can run it. */
function awaitedRuntime(
  row: InstanceRow,
  { now, place, whereabouts }: InstanceObservation,
): string | undefined {
  const { wakeAt, workflow } = row
  // A runtime that takes it up clears this time.
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

/** An independent instance that a workflow started has no parent. */
function isChild({ parent }: InstanceRow): boolean {
  return parent !== null && parent.onClose !== 'independent'
}
