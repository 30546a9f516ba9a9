import type { Ending, Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { sendResultToParent } from './children.ts'
import { noteEnded } from './remove-expired.ts'
import { removeTasks } from './tasks.ts'

const END = `
update instances
set status = ?, output = ?, report = null, updated_at = ?, finished_at = ?
where iid = ?`

// Most instances that end have neither: one read instead of two deletes.
const HAS_LEFT_BEHIND = `
select exists (select 1 from inbox where iid = ?)
  or exists (select 1 from tasks where iid = ?) as any`

const NOTE_UNSUCCESSFUL = `
insert or ignore into unsuccessful (any_version, status, created_at, iid)
select any_version, status, created_at, iid from instances where iid = ?`

/**
 * Ends an instance, for whatever reason. Its state and progress can still be read, and the keys of
 * messages that were sent to it are kept until it is removed: a sender may not have learned that
 * its message arrived.
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
  if (status !== 'completed') tx.sql(NOTE_UNSUCCESSFUL).run(iid)
  if (isChild) sendResultToParent(tx, iid)
}
