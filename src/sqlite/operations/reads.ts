import type {
  Claim,
  Iid,
  InboxRow,
  InstanceRow,
  Loaded,
  Standing,
  TurnRow,
  Wanted,
} from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'
import { lastTurn } from './claim.ts'

const HEAD = `
select instances.id as id, instances.execution as execution, name, version
from instances join workflows on workflows.workflow = instances.workflow
where iid = ?`

const HISTORY = `
select execution, turn, at, first, count, events
from history
where iid = ? and execution = ? and turn > ?
order by turn`

const INBOX = 'select id, kind, execution, command, payload from inbox where iid = ? order by id'

/** Reads instances with the history of their current execution and all that waits for them. */
export function load(tx: Transaction, wanted: readonly Wanted[]): readonly Loaded[] {
  return wanted.flatMap(({ iid, after }) => {
    const head = tx.sql(HEAD).get(iid) as
      { id: string; execution: number; name: string; version: string } | undefined
    if (head === undefined) return []
    const { id, execution, name, version } = head
    const history = tx.sql(HISTORY).all(iid, execution, after) as TurnRow[]
    const inbox = tx.sql(INBOX).all(iid) as InboxRow[]
    return [{ iid, id, workflow: { name, version }, execution, history, inbox }]
  })
}

/** Which of these copies are still what the store has, for this owner. */
export function verify(
  tx: Transaction,
  runtime: number,
  copies: readonly Standing[],
): { readonly server: string; readonly same: readonly boolean[] } {
  const same = copies.map(({ iid, epoch, execution, turn }) => {
    const run = tx
      .sql('select 1 from runs where iid = ? and owner = ? and epoch = ?')
      .get(iid, runtime, epoch)
    if (run === undefined) return false
    // There may be one turn more: the copy's own, whose answer has not reached it.
    return (
      tx
        .sql('select 1 from history where iid = ? and execution = ? and turn = ?')
        .get(iid, execution, turn) !== undefined
    )
  })
  return { server: tx.server, same }
}

/** What a runtime owns. */
export function owned(tx: Transaction, runtime: number): readonly Claim[] {
  const rows = tx
    .sql('select iid, epoch, attempts from runs where owner = ? order by iid')
    .all(runtime) as { iid: number; epoch: number; attempts: number }[]
  return rows.map(({ iid, epoch, attempts }) => ({ iid, epoch, attempts, ...lastTurn(tx, iid) }))
}

// The last turn says when a running one was last touched: turns do not write to `instances`.
const LOOK = `
select
  instances.iid as iid, id, name, version, instances.execution as execution,
  case when held = 1 then 'suspended' else status end as status,
  wake_at as wakeAt, created_at as createdAt, finished_at as finishedAt, output, report,
  max(updated_at, coalesce((
    select at from history
    where history.iid = instances.iid
    order by history.execution desc, turn desc
    limit 1
  ), 0)) as updatedAt
from instances
join workflows on workflows.workflow = instances.workflow
left join runs on runs.iid = instances.iid`

type LookRow = Omit<InstanceRow, 'workflow'> & { readonly name: string; readonly version: string }

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
  const { name, version, ...row } = found as LookRow
  return { ...row, workflow: { name, version } }
}
