import type { StartItem, Verdict } from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'
import { appendTurn } from './turns.ts'

const INSERT_INSTANCE = `
insert into instances
  (iid, id, workflow, execution, status, output, created_at, updated_at, finished_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing`

const INSERT_RUN = `
insert into runs (iid, workflow, owner, epoch, wake_at, attempts, held)
values (?, ?, ?, ?, ?, 0, 0)`

/**
 * Makes a new instance, owned by `owner` if the item says so.
 *
 * One that was made before under the same number is the same start, sent again. If it was to be
 * owned and its sender has lost it since, the sender must not go on with it.
 */
export function startInstance(tx: Transaction, item: StartItem, owner: number | null): Verdict {
  const { iid, id, workflow, owned, turn, end } = item
  const added = tx
    .sql(INSERT_INSTANCE)
    .run(
      iid,
      id,
      workflow,
      turn.execution,
      end?.status ?? 'running',
      end?.output ?? null,
      tx.now,
      tx.now,
      end === null ? null : tx.now,
    )
  if (added === 0) {
    const other = tx.sql('select iid from instances where id = ?').get(id) as
      { iid: number } | undefined
    if (other === undefined) return 'refused'
    if (other.iid !== iid) return 'exists'
    return owned && end === null && !isFirstOwner(tx, iid, owner) ? 'refused' : 'done'
  }
  // The first claim of one that nobody owns makes it epoch 1 as well.
  const epoch = owned ? 1 : 0
  appendTurn(tx, iid, epoch, turn)
  if (end === null) {
    tx.sql(INSERT_RUN).run(iid, workflow, owned ? owner : null, epoch, owned ? null : item.wakeAt)
  }
  return 'done'
}

function isFirstOwner(tx: Transaction, iid: number, owner: number | null): boolean {
  const sql = 'select 1 from runs where iid = ? and owner = ? and epoch = 1'
  return tx.sql(sql).get(iid, owner) !== undefined
}
