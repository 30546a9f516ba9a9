import type { InstanceQuery, StartedStatus } from '../../store/admin-store.ts'
import type { Value } from '../connect/driver.ts'

/** Part of a statement, with the values of its parameters. */
export interface Bound {
  readonly sql: string
  readonly values: readonly Value[]
}

/** The statuses of instances that have ended. */
export const ENDS: readonly StartedStatus[] = ['completed', 'failed', 'cancelled', 'terminated']

/** What a source of instances ensures by itself. */
export interface Ensured {
  readonly workflow: boolean
  readonly statuses: boolean
}

/** The conditions on a row of `instances`. Empty if there are none. */
export function filterOf(query: InstanceQuery, ensured: Ensured): Bound {
  const conditions: string[] = []
  const values: Value[] = []
  const add = (condition: string, ...bound: readonly Value[]): void => {
    conditions.push(condition)
    values.push(...bound)
  }
  const { statuses, workflow, version, labels, finishedFrom, finishedUntil, idPrefix } = query
  if (statuses !== null && !ensured.statuses) add(statusCondition(statuses))
  if (workflow !== null && !ensured.workflow) {
    add(
      `instances.any_version = (select workflow from workflows where name = ? and version = '')`,
      workflow,
    )
  }
  if (version !== null) {
    add('instances.workflow in (select workflow from workflows where version = ?)', version)
  }
  if (labels.length > 0) add(HAS_LABELS, JSON.stringify(Object.fromEntries(labels)))
  if (finishedFrom !== null) add('instances.finished_at >= ?', finishedFrom)
  if (finishedUntil !== null) add('instances.finished_at < ?', finishedUntil)
  if (idPrefix !== null) add('substr(instances.id, 1, length(?)) = ?', idPrefix, idPrefix)
  if (query.minExecution > 1) add('instances.execution >= ?', query.minExecution)
  return { sql: conditions.map((condition) => ` and ${condition}`).join(''), values }
}

const HAS_LABELS = `not exists (
  select 1 from json_each(?) as wanted
  where not exists (
    select 1 from json_each(instances.labels) as own
    where own.key = wanted.key and own.value = wanted.value
  )
)`

// As in `look.ts`.
const IS_SCHEDULED = `(r.admitted is false or r.epoch = 0 and not exists (
  select 1 from history where history.iid = r.iid and (turn > 1 or count > 1)
))`

function statusCondition(statuses: readonly StartedStatus[]): string {
  const wanted = new Set(statuses)
  const choices: string[] = []
  const ends = ENDS.filter((status) => wanted.has(status))
  if (ends.length > 0) {
    choices.push(`instances.status in (${ends.map((status) => `'${status}'`).join(', ')})`)
  }
  const unfinished = unfinishedCondition(wanted)
  if (unfinished !== '') choices.push(`instances.status = 'running'${unfinished}`)
  return `(${choices.length === 0 ? 'false' : choices.join(' or ')})`
}

/** What is required of a running instance besides that it runs; empty if none is wanted. */
function unfinishedCondition(wanted: ReadonlySet<StartedStatus>): string {
  const choices: string[] = []
  if (wanted.has('suspended')) choices.push('r.held = 1')
  if (wanted.has('running') && wanted.has('scheduled')) choices.push('r.held = 0')
  else if (wanted.has('scheduled')) choices.push(`r.held = 0 and ${IS_SCHEDULED}`)
  else if (wanted.has('running')) choices.push(`r.held = 0 and not ${IS_SCHEDULED}`)
  if (choices.length === 0) return ''
  return ` and exists (
  select 1 from runs as r where r.iid = instances.iid and (${choices.join(' or ')})
)`
}
