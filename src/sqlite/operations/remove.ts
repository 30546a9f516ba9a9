import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { removeLabels } from './labels.ts'

const ENDED = `
select iid from instances where id = ? and status <> 'running'`

const REMOVE = `
delete from instances
where iid = ?
returning any_version as anyVersion, created_at as createdAt, status, labels`

const REMOVE_UNSUCCESSFUL = `
delete from unsuccessful
where any_version = ? and status = ? and created_at = ? and iid = ?`

/** All other tables with rows of an instance that does not run. */
const TABLES = ['history', 'state', 'inbox', 'posted', 'tasks'] as const

/** Removes instances that have ended or were never started; returns how many there were. */
export function remove(tx: Transaction, ids: readonly string[]): number {
  let count = 0
  for (const id of ids) {
    const row = tx.sql(ENDED).get(id) as { iid: Iid } | undefined
    if (row === undefined) continue
    removeRows(tx, row.iid)
    count++
  }
  return count
}

/** Removes an instance that does not run, with its rows in all tables. */
export function removeRows(tx: Transaction, iid: Iid): void {
  const row = tx.sql(REMOVE).get(iid) as
    | { anyVersion: number | null; createdAt: number; status: string; labels: string }
    | undefined
  if (row !== undefined) {
    if (row.status !== 'completed') {
      tx.sql(REMOVE_UNSUCCESSFUL).run(row.anyVersion, row.status, row.createdAt, iid)
    }
    removeLabels(tx, { iid, ...row })
  }
  for (const table of TABLES) tx.sql(`delete from ${table} where iid = ?`).run(iid)
}
