import type { Iid, InstanceRow } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { STATUS } from './unstarted.ts'
import { PARENT_COLUMNS, type ParentColumns, toParent } from './parent.ts'

// The last turn says when a running one was last touched: turns do not write to `instances`. One
// that was never started has no workflow.
const LOOK = `
select
  instances.iid as iid, id,
  coalesce(name, '') as name, coalesce(version, '') as version,
  instances.execution as execution,
  case
    when held = 1 then 'suspended'
    when admitted = 0 then 'scheduled'
    when epoch = 0 and not exists (
      select 1 from history
      where history.iid = instances.iid and (turn > 1 or count > 1)
    ) then 'scheduled'
    else ${STATUS}
  end as status,
  wake_at as wakeAt, created_at as createdAt, finished_at as finishedAt, output, report,
  max(updated_at, coalesce((
    select at from history
    where history.iid = instances.iid
    order by history.execution desc, turn desc
    limit 1
  ), 0)) as updatedAt,
  labels, progress, coalesce(progress_version, 0) as progressVersion,
  (select count(*) from inbox where inbox.iid = instances.iid and kind = 'message') as mail,
  ${PARENT_COLUMNS}
from instances
left join workflows on workflows.workflow = instances.workflow
left join runs on runs.iid = instances.iid`

interface LookRow extends Omit<InstanceRow, 'workflow' | 'parent'>, ParentColumns {
  readonly name: string
  readonly version: string
}

/** Looks instances up by the caller's id. */
export function find(
  tx: Transaction,
  ids: readonly string[],
): readonly (InstanceRow | undefined)[] {
  const statement = tx.sql(`${LOOK} where instances.id = ?`)
  return ids.map((id) => toInstance(statement.get(id)))
}

/** Looks instances up by number. */
export function look(tx: Transaction, iids: readonly Iid[]): readonly (InstanceRow | undefined)[] {
  const statement = tx.sql(`${LOOK} where instances.iid = ?`)
  return iids.map((iid) => toInstance(statement.get(iid)))
}

function toInstance(found: unknown): InstanceRow | undefined {
  if (found === undefined) return undefined
  const row = found as LookRow
  return {
    iid: row.iid,
    id: row.id,
    workflow: { name: row.name, version: row.version },
    execution: row.execution,
    status: row.status,
    wakeAt: row.wakeAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    finishedAt: row.finishedAt,
    output: row.output,
    report: row.report,
    parent: toParent(row),
    labels: row.labels,
    progress: row.progress,
    progressVersion: row.progressVersion,
    mail: row.mail,
  }
}
