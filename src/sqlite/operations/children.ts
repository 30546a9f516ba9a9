import { PARENT_CLOSED } from '../../store/constants.ts'
import type { Effects } from '../../store/commits.ts'
import type { Iid, ParentLink } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { PARKED, putIntoInbox } from './inbox.ts'

// What the link says is also the kind of the row. A child that has such a row already gets no second one.
const CLOSE_ALL = `
insert into inbox (iid, kind, payload, at)
select child.iid, child.on_close, ?, ?
from instances as child
where child.parent_iid = ?
  and child.status = 'running'
  and child.on_close in ('cancel', 'terminate')
  and not exists (
    select 1 from inbox as told where told.iid = child.iid and told.kind = child.on_close
  )`

const CLOSE_ONE = `${CLOSE_ALL}
  and child.parent_execution = ?
  and child.parent_command = ?`

/** Asks unfinished children to end: those of these commands of an execution, or all. */
export function closeChildren(
  tx: Transaction,
  iid: Iid,
  execution: number,
  closes: Effects['closes'],
): void {
  if (closes === 'all') {
    tx.sql(CLOSE_ALL).run(PARENT_CLOSED, tx.now, iid)
    return
  }
  for (const command of closes) {
    tx.sql(CLOSE_ONE).run(PARENT_CLOSED, tx.now, iid, execution, command)
  }
}

/** A child whose parent ended before its start arrived is told at once. */
export function closeOrphan(tx: Transaction, iid: Iid, { iid: parent, onClose }: ParentLink): void {
  if (onClose !== 'cancel' && onClose !== 'terminate') return
  if (tx.sql('select 1 from runs where iid = ?').get(parent) !== undefined) return
  const told = { kind: onClose, name: '', replyTo: '', payload: PARENT_CLOSED }
  putIntoInbox(tx, iid, told, PARKED.no)
}

/** Whether an instance with this link is a child: its parent is told of the end. */
export function isChildOf(parent: ParentLink | null): boolean {
  return parent !== null && parent.onClose !== 'independent'
}

// A parent that has ended or is in another execution by now does not wait for it.
const TELL_PARENT = `
insert into inbox (iid, kind, execution, command, payload, at)
select
  parent.iid,
  case child.status when 'completed' then 'completed' else 'failed' end,
  child.parent_execution, child.parent_command, child.output, ?
from instances as child join instances as parent on parent.iid = child.parent_iid
where child.iid = ?
  and parent.status = 'running'
  and parent.execution = child.parent_execution
on conflict do nothing`

/** Puts the result of a child that has ended into the inbox of its parent. */
export function tellParent(tx: Transaction, iid: Iid): void {
  tx.sql(TELL_PARENT).run(tx.now, iid)
}
