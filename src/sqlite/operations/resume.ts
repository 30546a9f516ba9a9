import type { Transaction } from '../database.ts'

// Due at once, and with all its attempts: it was set aside for having used them up, or the code has
// been repaired since.
const RESUME = `
update runs set held = 0, wake_at = ?, attempts = 0
where held = 1 and iid = (select iid from instances where id = ?)
returning iid`

/** Makes instances that were set aside claimable again; answers how many there were. */
export function resume(tx: Transaction, ids: readonly string[]): number {
  let count = 0
  for (const id of ids) {
    const row = tx.sql(RESUME).get(tx.now, id) as { iid: number } | undefined
    if (row === undefined) continue
    const clear = 'update instances set report = null, updated_at = ? where iid = ?'
    tx.sql(clear).run(tx.now, row.iid)
    count++
  }
  return count
}
