import type { Iid } from '../../store/instances.ts'
import type {
  AwaitedLimit,
  LiveRuntime,
  RuntimePlace,
  TaskPlace,
  Whereabouts,
} from '../../store/whereabouts.ts'
import type { Transaction } from '../file/database.ts'
import { type LimitColumns, rateOf } from './task-limits.ts'

const OWNER = `
select runtimes.runtime as runtime, info
from runs join runtimes on runtimes.runtime = runs.owner
where iid = ?`

const TASKS = `
select command, attempts, visible_at as visibleAt, error,
  held_by as ownedBy, info, held_since as ownedSince
from instances
join tasks on tasks.iid = instances.iid and tasks.execution = instances.execution
left join runtimes on runtimes.runtime = held_by
where instances.iid = ?`

const RUNTIMES = `
select runtime, info, serves, activities,
  exists (
    select 1 from instances, json_each(runtimes.workflows) as served
    where iid = ? and served.value = workflow
  ) as registers
from runtimes
where state = 'alive' and lease_until > ?`

interface TaskRow extends Omit<TaskPlace, 'owner'> {
  readonly ownedBy: number | null
  readonly info: string | null
}

interface RuntimeRow extends RuntimePlace {
  readonly serves: string | null
  readonly activities: string
  readonly registers: number
}

const LIMIT = `
select admissions.workflow as workflow, limit_key as key, concurrency, rate_count as rateCount, rate_ms as rateMs, keyed
from admissions join workflows on workflows.workflow = admissions.workflow
where iid = ? and state <> 'admitted' and keyed is not null`

const SUSPENDED = `
select count(*) as suspended
from (
  select runs.held as held
  from admissions join runs on runs.iid = admissions.iid
  where admissions.workflow = ? and limit_key = ? and state = 'admitted'
  limit ?
)
where held = 1`

interface LimitRow extends Omit<LimitColumns, 'limitKey'> {
  readonly workflow: number
  readonly key: string | null
  readonly keyed: number
}

/** The limit that an instance waits for. */
function awaitedLimit(tx: Transaction, iid: Iid): AwaitedLimit | null {
  const row = tx.sql(LIMIT).get(iid) as LimitRow | undefined
  if (row === undefined) return null
  const { workflow, key, keyed, concurrency } = row
  // Without a limit of concurrency there are no places, and the count would have no end.
  const line = [workflow, key, concurrency ?? 0]
  const { suspended } = tx.sql(SUSPENDED).get(...line) as { suspended: number }
  return { key: keyed === 1 ? key : null, concurrency, rate: rateOf(row) ?? null, suspended }
}

/** Which runtimes work on an instance, and which could: to find out why it does not move. */
export function whereabouts(tx: Transaction, iid: Iid): Whereabouts {
  const owner = tx.sql(OWNER).get(iid) as RuntimePlace | undefined
  const tasks = tx.sql(TASKS).all(iid) as unknown as TaskRow[]
  const runtimes = tx.sql(RUNTIMES).all(iid, tx.now) as unknown as RuntimeRow[]
  return {
    owner: owner ?? null,
    tasks: tasks.map(({ ownedBy, info, ownedSince, ...task }) => ({
      ...task,
      owner: ownedBy === null ? null : { runtime: ownedBy, info: info ?? '' },
      ownedSince: ownedBy === null ? null : ownedSince,
    })),
    runtimes: runtimes.map(({ serves, activities, registers, ...place }) => ({
      ...place,
      registers: registers === 1,
      serves: serves === null ? null : (JSON.parse(serves) as LiveRuntime['serves']),
      activities: JSON.parse(activities) as string[],
    })),
    limit: awaitedLimit(tx, iid),
  }
}
