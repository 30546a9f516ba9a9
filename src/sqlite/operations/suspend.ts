import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { stepAside } from './admissions.ts'
import { forgiveTasks } from './task-owners.ts'

// Under another epoch, nothing that the owner still sends has an effect. At epoch 0 there was no
// owner: it remains an instance that never ran, and keeps its time. What is suspended already keeps the
// report of why it is.
const SUSPEND = `
update runs
set owner = null, epoch = iif(epoch = 0, 0, epoch + 1), wake_at = null, held = 1,
  due_at = iif(epoch = 0, coalesce(wake_at, due_at), null)
where held = 0 and iid = (select iid from instances where id = ?)
returning iid, admitted`

const IS_UNFINISHED = 'select 1 from runs where iid = (select iid from instances where id = ?)'

/** Suspends unfinished instances, whichever runtime owns them; returns which were unfinished. */
export function suspend(
  tx: Transaction,
  ids: readonly string[],
  report: string,
): readonly boolean[] {
  return ids.map((id) => {
    const run = tx.sql(SUSPEND).get(id) as { iid: number; admitted: number | null } | undefined
    if (run === undefined) return tx.sql(IS_UNFINISHED).get(id) !== undefined
    if (run.admitted === 0) stepAside(tx, run.iid)
    writeReport(tx, run.iid, report)
    return true
  })
}

// Due at once unless its time has not come, and without deaths: it was suspended for them, or the
// code has been fixed since.
const RESUME = `
update runs set held = 0, wake_at = coalesce(due_at, ?), due_at = null, attempts = 0, doing = ''
where held = 1 and iid = (select iid from instances where id = ?)
returning iid`

/** Makes suspended instances claimable again; returns how many there were. */
export function resume(tx: Transaction, ids: readonly string[]): number {
  let count = 0
  for (const id of ids) {
    const run = tx.sql(RESUME).get(tx.now, id) as { iid: number } | undefined
    if (run === undefined) continue
    writeReport(tx, run.iid, null)
    forgiveTasks(tx, run.iid)
    count++
  }
  return count
}

/** Records why an instance is suspended, or that it is not. */
export function writeReport(tx: Transaction, iid: Iid, report: string | null): void {
  const sql = 'update instances set report = ?, updated_at = ? where iid = ?'
  tx.sql(sql).run(report, tx.now, iid)
}
