import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { noteEarlier } from './note-earlier.ts'
import { removeRows } from './remove.ts'

/** So that others need not wait long for the file. */
const MAX_AT_ONCE = 500

// An execution of it may have been followed by another one in the same millisecond: the end replaces that.
const NOTE = `
insert or replace into ended (workflow, at, iid, execution)
select instances.workflow, ?, iid, ?
from instances join workflows on workflows.workflow = instances.workflow
where iid = ? and retention_ms is not null`

// Most files have no such workflow: that is found out once for all ends of a transaction.
const isAnyRetained = new WeakMap<Transaction, boolean>()

/**
 * Records the end of an instance, or of an earlier execution of it, unless its workflow keeps instances
 * forever.
 */
export function noteEnded(tx: Transaction, iid: Iid, execution: number | null = null): void {
  let known = isAnyRetained.get(tx)
  if (known === undefined) {
    known = tx.sql('select 1 from workflows where retention_ms is not null').get() !== undefined
    isAnyRetained.set(tx, known)
  }
  if (known) tx.sql(NOTE).run(tx.now, execution, iid)
}

// A cross join is done in the order written.
const EXPIRED = `
select ended.workflow as workflow, at, iid, execution
from workflows cross join ended on ended.workflow = workflows.workflow
where retention_ms is not null and at < ? - retention_ms
limit ?`

const FORGET = 'delete from ended where workflow = ? and at = ? and iid = ?'

// A runtime that takes the parent over may start it again, and has to find it.
const IS_WANTED = `
select 1
from instances as child join instances as parent on parent.iid = child.parent_iid
where child.iid = ?
  and parent.status = 'running'
  and parent.execution = child.parent_execution`

// Never the current execution.
const REMOVE_EXECUTIONS = `
delete from history
where iid = ? and execution <= ?
  and execution < (select execution from instances where instances.iid = history.iid)`

/**
 * Removes instances that ended longer ago than they are to be kept, and the histories of executions that
 * were followed by others as long ago; returns whether there may be more.
 */
export function removeExpired(tx: Transaction): boolean {
  const isNoting = noteEarlier(tx, MAX_AT_ONCE)
  const expired = tx.sql(EXPIRED).all(tx.now, MAX_AT_ONCE) as {
    workflow: number
    at: number
    iid: number
    execution: number | null
  }[]
  for (const { workflow, at, iid, execution } of expired) {
    tx.sql(FORGET).run(workflow, at, iid)
    if (execution !== null) tx.sql(REMOVE_EXECUTIONS).run(iid, execution)
    else if (tx.sql(IS_WANTED).get(iid) !== undefined) noteEnded(tx, iid)
    else removeRows(tx, iid)
  }
  return isNoting || expired.length === MAX_AT_ONCE
}
