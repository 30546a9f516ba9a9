import type { Transaction } from '../file/database.ts'

const REMOVE = `
delete from instances
where id = ? and status <> 'running'
returning iid`

/** All other tables that know of an instance that does not run. */
const TABLES = ['history', 'state', 'inbox', 'posted', 'tasks'] as const

/** Removes instances that have ended or were never started; answers how many there were. */
export function remove(tx: Transaction, ids: readonly string[]): number {
  let count = 0
  for (const id of ids) {
    const row = tx.sql(REMOVE).get(id) as { iid: number } | undefined
    if (row === undefined) continue
    for (const table of TABLES) tx.sql(`delete from ${table} where iid = ?`).run(row.iid)
    count++
  }
  return count
}
