import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { forgiveTasks } from './task-owners.ts'

// With another epoch, nothing that the owner still sends has an effect. At 0 there was none: it stays
// one that was never run, whose time is kept.
const SUSPEND = `
update runs
set owner = null, epoch = iif(epoch = 0, 0, epoch + 1), wake_at = null, held = 1,
  due_at = iif(epoch = 0, coalesce(wake_at, due_at), null)
where iid = (select iid from instances where id = ?)
returning iid`

/** Suspends unfinished instances, whoever owns them; returns which were unfinished. */
export function suspend(
  tx: Transaction,
  ids: readonly string[],
  report: string,
): readonly boolean[] {
  return ids.map((id) => {
    const run = tx.sql(SUSPEND).get(id) as { iid: number } | undefined
    if (run !== undefined) writeReport(tx, run.iid, report)
    return run !== undefined
  })
}

// Due at once unless its time has not come, and with all its attempts: it was suspended for having
// used them up, or the code has been repaired since.
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
