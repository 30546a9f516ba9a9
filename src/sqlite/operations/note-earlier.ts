import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

const FIRST = `
select workflows.name as name, named.workflow as workflow,
  workflows.noted_at as at, workflows.noted_iid as iid
from workflows join workflows as named on named.name = workflows.name and named.version = ''
where workflows.noted_at is not null
order by workflows.name, workflows.noted_at, workflows.noted_iid
limit 1`

const NEXT = `
select iid, created_at as at
from instances indexed by instances_by_workflow
where any_version = ? and (created_at, iid) > (?, ?)
order by created_at, iid
limit ?`

const LAST_TURN = `
select at from history
where history.iid = instances.iid and history.execution = instances.execution - 1
order by turn desc
limit 1`

// Of an instance that has ended, its end; of one that continued as new, the execution before.
const NOTE = `
insert or ignore into ended (workflow, at, iid, execution)
select workflow, at, iid, execution
from (
  select instances.workflow as workflow, coalesce(finished_at, (${LAST_TURN})) as at, iid,
    iif(finished_at is null, execution - 1, null) as execution
  from instances join workflows on workflows.workflow = instances.workflow
  where iid = ? and noted_at is not null
)
where at is not null`

const REACHED = `
update workflows set noted_at = ?, noted_iid = ?
where name = ? and noted_at is not null and (noted_at, noted_iid) < (?, ?)`

const DONE = `
update workflows set noted_at = null, noted_iid = null
where name = ? and noted_at is not null`

interface Unnoted {
  readonly name: string
  readonly workflow: number
  readonly at: number
  readonly iid: Iid
}

/**
 * Records what ended, or continued as new, before its workflow had a retention. Goes through the instances
 * of one workflow by their age, some at a time, for all of its versions that have got a retention; returns
 * whether there is more.
 */
export function noteEarlier(tx: Transaction, limit: number): boolean {
  const from = tx.sql(FIRST).get() as Unnoted | undefined
  if (from === undefined) return false
  const rows = tx.sql(NEXT).all(from.workflow, from.at, from.iid, limit) as {
    at: number
    iid: Iid
  }[]
  for (const { iid } of rows) tx.sql(NOTE).run(iid)
  const last = rows.at(-1)
  if (rows.length < limit || last === undefined) {
    tx.sql(DONE).run(from.name)
    return tx.sql(FIRST).get() !== undefined
  }
  tx.sql(REACHED).run(last.at, last.iid, from.name, last.at, last.iid)
  return true
}
