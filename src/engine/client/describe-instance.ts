import type { Loaded } from '../../store/claims.ts'
import { type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import { formatDuration } from '../../base/time/duration.ts'
import type { InstanceInfo, Status } from '../define/instance.ts'
import type { Observation } from './describe-activity.ts'
import { readError, readValue } from './readable.ts'
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
  const isCompleted = row.status === 'completed'
  const failed = isCompleted ? null : (row.output ?? row.report)
  const progress = readValue(values, row.progress)
  const output = readValue(values, isCompleted ? row.output : null)
  const error = failed === null ? (output.problem ?? progress.problem) : readError(values, failed)
  const runtime = awaitedRuntime(row, observation)
  return {
    id: row.id,
    workflow: row.workflow.name,
    version: row.workflow.version,
    status: row.status as Status,
    progress: progress.value,
    progressVersion: row.progressVersion,
    execution: row.execution,
    labels: JSON.parse(row.labels) as Record<string, string>,
    ...(isChild(row) && { parentId: row.parent!.id }),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    ...(row.finishedAt !== null && { finishedAt: new Date(row.finishedAt) }),
    waitingFor: [
      ...(runtime === undefined ? [] : [runtime]),
      ...(row.status === 'scheduled' ? startOf(row, observation) : []),
      ...(isUnfinished(row) ? limitOf(observation) : []),
      ...(isUnfinished(row) && loaded !== undefined ? openWaits(loaded, observation) : []),
    ],
    ...('value' in output && { output: output.value }),
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

/** The limit of its workflow, which does not admit it yet. */
function limitOf({ whereabouts }: InstanceObservation): readonly string[] {
  const { limit } = whereabouts
  if (limit === null) return []
  const { key, concurrency, rate, suspended } = limit
  const parts = [
    ...(concurrency === null ? [] : [`${concurrency} at a time`]),
    ...(rate === null ? [] : [`${rate.count} per ${formatDuration(rate.perMs)}`]),
  ]
  const forKey = key === null ? '' : ` for key ${JSON.stringify(key)}`
  const held = suspended === 0 ? '' : ` (suspended instances hold ${suspended} of these places)`
  return [`its workflow's limit of ${parts.join(' and ')}${forKey}${held}`]
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
  const here = place === 'lacks code' ? ', including this one' : ''
  return `a runtime that registers ${code} (no live runtime does${here})`
}

/** An independent instance that a workflow started has no parent. */
function isChild({ parent }: InstanceRow): boolean {
  return parent !== null && parent.onClose !== 'independent'
}
