import type {
  Depths,
  ExecutionRow,
  Fleet,
  FoundTasks,
  RuntimeRow,
  TaskDepth,
  TaskPosition,
  TaskQuery,
  TaskRow,
  UsageRow,
  WorkflowDepth,
} from '../../store/admin-store.ts'
import type { Iid, WorkflowName } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

// Statistics for people. They read whole tables of unfinished work.

const EXECUTIONS = `
select execution, min(at) as startedAt, max(at) as lastTurnAt, count(*) as turns,
  sum(count) as events, sum(octet_length(events)) as bytes
from history
where iid = ?
group by execution
order by execution`

/** The executions of an instance that have a history. */
export function executions(tx: Transaction, iid: Iid): readonly ExecutionRow[] {
  return tx.sql(EXECUTIONS).all(iid) as unknown as ExecutionRow[]
}

const USAGE = `
select
  (select count(*) from state where iid = ?) as stateKeys,
  (select coalesce(sum(octet_length(value)), 0) from state where iid = ?) as stateBytes,
  (select count(*) from inbox where iid = ? and kind = 'message') as messages,
  (select coalesce(sum(octet_length(payload)), 0) from inbox where iid = ? and kind = 'message')
    as messageBytes,
  (select count(*) from tasks where iid = ?) as tasks`

/** What is stored for an instance besides its histories. */
export function usage(tx: Transaction, iid: Iid): UsageRow {
  return tx.sql(USAGE).get(iid, iid, iid, iid, iid) as UsageRow
}

const WORKFLOWS = `
select name, version, status, sum(count) as count
from (
  select workflow, case when held = 1 then 'suspended' when epoch = 0 then 'scheduled' else 'running' end
    as status, count(*) as count
  from runs
  group by 1, 2
  union all
  select workflow, instances.status, count(*)
  from unsuccessful cross join instances on instances.iid = unsuccessful.iid
  group by 1, 2
) as depth join workflows on workflows.workflow = depth.workflow
group by name, version, status
order by name, version, status`

const TASKS = `
select activity, tag, waiting, delayed, running,
  (
    select at from history
    where iid = (select iid from tasks where number = oldest)
    order by execution desc, turn desc
    limit 1
  ) as oldestAt
from (
  select activity, tag,
    sum(held_by is null and visible_at is null) as waiting,
    sum(held_by is null and visible_at is not null) as delayed,
    sum(held_by is not null) as running,
    min(iif(held_by is null and visible_at is null, number, null)) as oldest
  from tasks
  group by activity, tag
)
order by activity, tag`

// What may run at once has no time of its own: a start is due since it was made or resumed, and an instance
// that was released since its last turn.
const DUE = `
select min(case
  when wake_at > 0 then wake_at
  when epoch = 0 then (select updated_at from instances where instances.iid = runs.iid)
  else (
    select at from history
    where history.iid = runs.iid
    order by execution desc, turn desc
    limit 1
  )
end) as at
from runs
where wake_at <= ?`

const MESSAGES = 'select sum(parked = 0) as waiting, sum(parked > 0) as parked from inbox'

/** How much there is to do. */
export function depths(tx: Transaction): Depths {
  const due = tx.sql(DUE).get(tx.now) as { at: number | null }
  const messages = tx.sql(MESSAGES).get() as { waiting: number | null; parked: number | null }
  return {
    clock: tx.now,
    workflows: tx.sql(WORKFLOWS).all() as unknown as WorkflowDepth[],
    tasks: tx.sql(TASKS).all() as unknown as TaskDepth[],
    oldestDueAt: due.at,
    messages: { waiting: messages.waiting ?? 0, parked: messages.parked ?? 0 },
  }
}

const RUNTIMES = `
select runtime, info, state, lease_until as leaseUntil, registered_at as registeredAt,
  (select count(*) from runs where owner = runtime) as instances,
  (select count(*) from tasks where held_by = runtime) as tasks,
  workflows, serves, activities
from runtimes
where state <> 'closed'
order by runtime`

const NAMES = `
select name, version
from json_each(?) as served join workflows on workflows.workflow = served.value
order by name, version`

interface RuntimeColumns extends Omit<RuntimeRow, 'workflows' | 'serves' | 'activities'> {
  readonly workflows: string
  readonly serves: string | null
  readonly activities: string
}

/** All runtimes that are alive or died lately. */
export function fleet(tx: Transaction): Fleet {
  const rows = tx.sql(RUNTIMES).all() as unknown as RuntimeColumns[]
  const runtimes = rows.map(({ workflows, serves, activities, ...row }) => ({
    ...row,
    workflows: tx.sql(NAMES).all(workflows) as unknown as WorkflowName[],
    serves: serves === null ? null : (JSON.parse(serves) as RuntimeRow['serves']),
    activities: JSON.parse(activities) as string[],
  }))
  return { clock: tx.now, runtimes }
}

const FIND_TASKS = `
select tasks.iid as iid, tasks.execution as execution, command, id, name as workflow, activity, tag,
  tasks.session as session, sessions.runtime as sessionOf, attempts, deaths, held_by as owner,
  held_since as ownedSince, visible_at as visibleAt, error
from tasks
join instances on instances.iid = tasks.iid
left join workflows on workflows.workflow = instances.workflow
left join sessions on sessions.session = tasks.session
where (tasks.iid, tasks.execution, command) > (?, ?, ?) and tasks.iid >= ? and tasks.iid <= ?
order by tasks.iid, tasks.execution, command
limit ?`

/** Finds tasks, in the order of their keys. */
export function findTasks(
  tx: Transaction,
  query: TaskQuery,
  { after, limit, scan }: { after: TaskPosition | null; limit: number; scan: number },
): FoundTasks {
  let from = 0
  let until = Number.MAX_SAFE_INTEGER
  if (query.instance !== null) {
    const row = tx.sql('select iid from instances where id = ?').get(query.instance)
    if (row === undefined) return { tasks: [], next: null }
    from = until = (row as { iid: Iid }).iid
  }
  const { iid, execution, command } = after ?? { iid: from - 1, execution: 0, command: 0 }
  const rows = tx
    .sql(FIND_TASKS)
    .all(iid, execution, command, from, until, scan) as unknown as TaskRow[]
  const tasks: TaskRow[] = []
  for (const [i, row] of rows.entries()) {
    if (!fits(row, query, tx.now)) continue
    tasks.push(row.owner === null ? { ...row, ownedSince: null } : row)
    if (tasks.length < limit) continue
    const isMore = i + 1 < rows.length || rows.length === scan
    return { tasks, next: isMore ? keyOf(row) : null }
  }
  const last = rows.at(-1)
  return { tasks, next: last !== undefined && rows.length === scan ? keyOf(last) : null }
}

function fits(row: TaskRow, query: TaskQuery, now: number): boolean {
  const { activity, tag, session, state } = query
  if (activity !== null && row.activity !== activity) return false
  if (tag !== null && row.tag !== tag) return false
  if (session !== null && row.session !== session) return false
  return state === null || state === stateOf(row, now)
}

function stateOf({ owner, visibleAt }: TaskRow, now: number): NonNullable<TaskQuery['state']> {
  if (owner !== null) return 'running'
  return visibleAt !== null && visibleAt > now ? 'delayed' : 'waiting'
}

function keyOf({ iid, execution, command }: TaskRow): TaskPosition {
  return { iid, execution, command }
}
