import type { Ending, Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { tellParent } from './children.ts'
import { noteEnded } from './remove-expired.ts'
import { removeTasks } from './tasks.ts'

const END = `
update instances
set status = ?, output = ?, report = null, updated_at = ?, finished_at = ?
where iid = ?`

// Most that end have nothing of the kind: one look instead of two deletes.
const HAS_LEFT_BEHIND = `
select exists (select 1 from inbox where iid = ?)
  or exists (select 1 from tasks where iid = ?) as any`

/**
 * Ends an instance, however it comes to that. Its state and progress can still be read, and what
 * was sent to it under a key is known until it is removed: its sender may not know that it arrived.
 */
export function endInstance(
  tx: Transaction,
  iid: Iid,
  { status, output }: Ending,
  isChild: boolean,
): void {
  tx.sql('delete from runs where iid = ?').run(iid)
  const left = tx.sql(HAS_LEFT_BEHIND).get(iid, iid) as { readonly any: number }
  if (left.any === 1) {
    tx.sql('delete from inbox where iid = ?').run(iid)
    removeTasks(tx, iid)
  }
  tx.sql(END).run(status, output, tx.now, tx.now, iid)
  noteEnded(tx, iid)
  if (isChild) tellParent(tx, iid)
}
