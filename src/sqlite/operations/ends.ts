import type { Ending, Iid } from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'
import { tellParent } from './children.ts'
import { noteEnded } from './remove-expired.ts'
import { removeTasks } from './tasks.ts'

const END = `
update instances
set status = ?, output = ?, report = null, updated_at = ?, finished_at = ?
where iid = ?`

/** Ends an instance, however it comes to that. Its state and progress can still be read. */
export function endInstance(
  tx: Transaction,
  iid: Iid,
  { status, output }: Ending,
  isChild: boolean,
): void {
  tx.sql('delete from runs where iid = ?').run(iid)
  tx.sql('delete from inbox where iid = ?').run(iid)
  tx.sql('delete from posted where iid = ?').run(iid)
  removeTasks(tx, iid)
  tx.sql(END).run(status, output, tx.now, tx.now, iid)
  noteEnded(tx, iid)
  if (isChild) tellParent(tx, iid)
}
