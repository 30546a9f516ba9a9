import type { PruneRequest, Removal, RemovalVerdict } from '../../store/admin-store.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { removeRows } from './remove.ts'

const PARENT = `
select parent.iid as iid
from instances as child join instances as parent on parent.iid = child.parent_iid
where child.iid = ? and child.on_close <> 'independent'`

const CHILDREN = `
select iid from instances indexed by instances_by_parent
where parent_iid = ? and on_close <> 'independent'
order by created_at, iid
limit ?`

const STATUS = `select status from instances where iid = ? and status <> 'absent'`

/** An instance and its descendants, level by level. */
export function tree(
  tx: Transaction,
  iid: Iid,
  { fromRoot, limit }: { readonly fromRoot: boolean; readonly limit: number },
): readonly Iid[] {
  let top = iid
  if (fromRoot) {
    for (;;) {
      const above = tx.sql(PARENT).get(top) as { iid: Iid } | undefined
      if (above === undefined) break
      top = above.iid
    }
  }
  if (tx.sql(STATUS).get(top) === undefined) return []
  const found = [top]
  // An array that grows while it is gone through: children are added behind their parents.
  for (const member of found) {
    const room = limit - found.length
    if (room <= 0) break
    const children = tx.sql(CHILDREN).all(member, room) as { iid: Iid }[]
    for (const child of children) found.push(child.iid)
  }
  return found
}

// A runtime that takes the parent over may start it again, and has to find it.
const IS_WANTED = `
select 1
from instances as child join instances as parent on parent.iid = child.parent_iid
where child.iid = ? and parent.status = 'running' and parent.execution = child.parent_execution`

/** Removes instances that have ended, each with its descendants, or not at all. */
export function removeTrees(
  tx: Transaction,
  iids: readonly Iid[],
  { together }: { readonly together: boolean },
): readonly Removal[] {
  const gone = new Set<Iid>()
  const removals = iids.map((iid): Removal => {
    const members = tree(tx, iid, { fromRoot: false, limit: Number.MAX_SAFE_INTEGER })
    const verdict = verdictOn(tx, iid, members)
    // It may be below another one of them.
    const before = gone.size
    if (verdict === 'removed') for (const member of members) gone.add(member)
    return { verdict, count: gone.size - before }
  })
  if (together && removals.some(isRefused)) return removals.map((one) => ({ ...one, count: 0 }))
  for (const member of gone) removeRows(tx, member)
  return removals
}

function isRefused({ verdict }: Removal): boolean {
  return verdict === 'running' || verdict === 'wanted'
}

function verdictOn(tx: Transaction, iid: Iid, members: readonly Iid[]): RemovalVerdict {
  if (members.length === 0) return 'unknown'
  if (tx.sql(IS_WANTED).get(iid) !== undefined) return 'wanted'
  const isRunning = (member: Iid): boolean =>
    (tx.sql(STATUS).get(member) as { status: string } | undefined)?.status === 'running'
  return members.some(isRunning) ? 'running' : 'removed'
}

const OLD = `
select history.execution as execution
from history join instances on instances.iid = history.iid
where history.iid = ? and history.execution <= instances.execution - ?
group by history.execution
having max(at) < ?`

/** Removes the histories of earlier executions; returns how many executions those were. */
export function prune(tx: Transaction, { iids, keep, endedUntil }: PruneRequest): number {
  let count = 0
  for (const iid of iids) {
    const old = tx.sql(OLD).all(iid, Math.max(1, keep), endedUntil ?? Number.MAX_SAFE_INTEGER) as {
      execution: number
    }[]
    for (const { execution } of old) {
      tx.sql('delete from history where iid = ? and execution = ?').run(iid, execution)
    }
    count += old.length
  }
  return count
}
