import type { StartItem, Verdict } from '../../store/commits.ts'
import { type KnownInstance, verdictOnUnappliedStart } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { STATUS } from './unstarted.ts'
import { lineUp } from './admissions.ts'
import { closeOrphan, isChildOf } from './children.ts'
import { applyEffects } from './effects.ts'
import { endInstance } from './ends.ts'
import { appendTurn } from './history.ts'
import { PARKED, putIntoInbox, unparkAll } from './inbox.ts'
import { noteLabels } from './labels.ts'
import type { StoredLimit } from './limits.ts'
import { PARENT_COLUMNS, parentValues } from './parent.ts'

/** The row of a workflow without its version. */
const ANY_VERSION = `(
  select named.workflow
  from workflows join workflows as named on named.name = workflows.name and named.version = ''
  where workflows.workflow = ?
)`

const INSERT_INSTANCE = `
insert into instances
  (iid, id, workflow, any_version, execution, status, created_at, updated_at, labels, ${PARENT_COLUMNS})
values (?, ?, ?, ${ANY_VERSION}, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing`

const MAKE_LIVE = `
update instances
set workflow = ?, any_version = ${ANY_VERSION}, execution = ?, status = 'running', created_at = ?,
  updated_at = ?, labels = ?,
  (${PARENT_COLUMNS}) = (?, ?, ?, ?, ?)
where iid = ?`

const INSERT_RUN = `
insert into runs (iid, workflow, owner, epoch, wake_at, attempts, held, child)
values (?, ?, ?, ?, ?, 0, 0, ?)`

const MARK_RUN = 'update runs set priority = ?, admitted = ? where iid = ?'

/** Makes a new instance, owned by `owner` if the item says so. */
export function startInstance(
  tx: Transaction,
  item: StartItem,
  owner: number | null,
  limits: ReadonlyMap<number, StoredLimit>,
): Verdict {
  const limit = limits.get(item.workflow)
  // The sender does not know of the limit: it sends the start again, unowned.
  if (limit !== undefined && item.owned) return 'locked'
  const isRefused = isSuperseded(tx, item, owner)
  if (isRefused || !insertInstance(tx, item, item.turn.execution)) {
    const byNumber = known(tx, 'iid', item.iid)
    const isAwaited = byNumber?.id === item.id && !byNumber.isStarted
    if (isRefused || !isAwaited) {
      return verdictOnUnappliedStart(item, byNumber, known(tx, 'id', item.id), () =>
        isFirstOwner(tx, item.iid, owner),
      )
    }
    makeLive(tx, item)
  }
  begin(tx, item, owner, limit)
  return 'done'
}

/** A runtime that starts a child has to own its parent: another owner may have cancelled the start. */
function isSuperseded(tx: Transaction, { parent }: StartItem, owner: number | null): boolean {
  if (parent === null || owner === null) return false
  const run = tx.sql('select owner from runs where iid = ?').get(parent.iid) as
    | { owner: number | null }
    | undefined
  return run !== undefined && run.owner !== owner
}

/** The instance with this number or this id, if there is one. */
export function known(
  tx: Transaction,
  column: 'iid' | 'id',
  value: number | string,
): KnownInstance | undefined {
  const row = tx
    .sql(`select iid, id, ${STATUS} as status from instances where ${column} = ?`)
    .get(value) as { iid: number; id: string; status: string } | undefined
  return row && { iid: row.iid, id: row.id, isStarted: row.status !== 'unstarted' }
}

/** The row of an instance at its start. */
type NewInstance = Pick<
  StartItem,
  'iid' | 'id' | 'workflow' | 'labels' | 'parent' | 'priority' | 'limitKey'
>

/** Inserts an instance, unless its id or number is taken. */
export function insertInstance(
  tx: Transaction,
  { iid, id, workflow, labels, parent }: NewInstance,
  execution: number,
): boolean {
  const values = [iid, id, workflow, workflow, execution, tx.now, tx.now, labels]
  if (tx.sql(INSERT_INSTANCE).run(...values, ...parentValues(parent)) === 0) return false
  noteLabels(tx, iid, labels)
  return true
}

/** Inserts what makes an instance claimable, or owned. */
export function insertRun(
  tx: Transaction,
  instance: NewInstance,
  { owner, epoch, wakeAt }: { owner: number | null; epoch: number; wakeAt: number | null },
  limit: StoredLimit | undefined,
): void {
  const { iid, workflow, parent, priority = 0 } = instance
  tx.sql(INSERT_RUN).run(iid, workflow, owner, epoch, wakeAt, isChildOf(parent) ? 1 : 0)
  if (priority === 0 && limit === undefined) return
  tx.sql(MARK_RUN).run(priority === 0 ? null : priority, limit === undefined ? null : 0, iid)
  if (limit !== undefined) lineUp(tx, { ...instance, wakeAt }, limit)
}

function makeLive(tx: Transaction, { iid, workflow, turn, labels, parent }: StartItem): void {
  const values = [workflow, workflow, turn.execution, tx.now, tx.now, labels]
  tx.sql(MAKE_LIVE).run(...values, ...parentValues(parent), iid)
  noteLabels(tx, iid, labels)
  unparkAll(tx, iid)
}

function begin(
  tx: Transaction,
  item: StartItem,
  owner: number | null,
  limit: StoredLimit | undefined,
): void {
  const { iid, owned, turn, end, parent, messages, effects } = item
  // 0 until a runtime has run its code.
  const epoch = owned || turn.count > 1 ? 1 : 0
  appendTurn(tx, iid, epoch, turn)
  if (effects !== null) applyEffects(tx, iid, turn.execution, effects)
  if (end !== null) {
    endInstance(tx, iid, end, isChildOf(parent))
    return
  }
  const run = { owner: owned ? owner : null, epoch, wakeAt: owned ? null : item.wakeAt }
  insertRun(tx, item, run, limit)
  if (parent !== null) closeOrphan(tx, iid, parent)
  for (const { name, payload } of messages) {
    putIntoInbox(tx, iid, { kind: 'message', name, replyTo: '', payload }, PARKED.no)
  }
}

function isFirstOwner(tx: Transaction, iid: number, owner: number | null): boolean {
  const sql = 'select 1 from runs where iid = ? and owner = ? and epoch = 1'
  return tx.sql(sql).get(iid, owner) !== undefined
}
