import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

/** So that others need not wait long for the file. */
const MAX_AT_ONCE = 500

const NOTE = `
insert or ignore into ended (workflow, at, iid)
select instances.workflow, ?, iid
from instances join workflows on workflows.workflow = instances.workflow
where iid = ? and retention_ms is not null`

// Most files have no such workflow: that is found out once for all ends of a transaction.
const isAnyRetained = new WeakMap<Transaction, boolean>()

/** Notes the end of an instance, unless its workflow wants it kept for ever. */
export function noteEnded(tx: Transaction, iid: Iid): void {
  let known = isAnyRetained.get(tx)
  if (known === undefined) {
    known = tx.sql('select 1 from workflows where retention_ms is not null').get() !== undefined
    isAnyRetained.set(tx, known)
  }
  if (known) tx.sql(NOTE).run(tx.now, iid)
}

// A cross join is done in the order written.
const EXPIRED = `
select ended.workflow as workflow, at, iid
from workflows cross join ended on ended.workflow = workflows.workflow
where retention_ms is not null and at < ? - retention_ms
limit ?`

const FORGET = 'delete from ended where workflow = ? and at = ? and iid = ?'

// Whoever takes the parent over may start it again, and has to find it.
const IS_WANTED = `
select 1
from instances as child join instances as parent on parent.iid = child.parent_iid
where child.iid = ?
  and parent.status = 'running'
  and parent.execution = child.parent_execution`

/** Tables that know of an instance that has ended. */
const TABLES = ['instances', 'history', 'state', 'posted'] as const

/** Removes instances that ended longer ago than they are to be kept; answers whether there may be more. */
export function removeExpired(tx: Transaction): boolean {
  const expired = tx.sql(EXPIRED).all(tx.now, MAX_AT_ONCE) as {
    workflow: number
    at: number
    iid: number
  }[]
  for (const { workflow, at, iid } of expired) {
    tx.sql(FORGET).run(workflow, at, iid)
    if (tx.sql(IS_WANTED).get(iid) !== undefined) noteEnded(tx, iid)
    else for (const table of TABLES) tx.sql(`delete from ${table} where iid = ?`).run(iid)
  }
  return expired.length === MAX_AT_ONCE
}
