import { UNADMITTED } from '../../store/claimable.ts'
import { PARENT_CLOSED } from '../../store/constants.ts'
import type { Effects } from '../../store/commits.ts'
import type { Iid, ParentLink } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { PARKED, putIntoInbox } from './inbox.ts'

// The kind of the row is what the link says. A child that has such a row already gets no second
// one.
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
    if (tx.sql(CLOSE_ALL).run(PARENT_CLOSED, tx.now, iid) > 0) wakeUnadmitted(tx, iid)
    return
  }
  for (const command of closes) {
    const closed = tx.sql(CLOSE_ONE).run(PARENT_CLOSED, tx.now, iid, execution, command)
    if (closed > 0) wakeUnadmitted(tx, iid)
  }
}

// A request to end does not wait until the limit of the workflow admits the child.
const WAKE_UNADMITTED = `
update runs as r set wake_at = ?
where r.iid in (select iid from instances where parent_iid = ?)
  and ${UNADMITTED} and held = 0
  and exists (select 1 from inbox where inbox.iid = r.iid and kind in ('cancel', 'terminate'))`

function wakeUnadmitted(tx: Transaction, parent: Iid): void {
  tx.sql(WAKE_UNADMITTED).run(tx.now, parent)
}

/** A child whose parent ended before its start arrived gets the request to close at once. */
export function closeOrphan(tx: Transaction, iid: Iid, { iid: parent, onClose }: ParentLink): void {
  if (onClose !== 'cancel' && onClose !== 'terminate') return
  if (tx.sql('select 1 from runs where iid = ?').get(parent) !== undefined) return
  const request = { kind: onClose, name: '', replyTo: '', payload: PARENT_CLOSED }
  putIntoInbox(tx, iid, request, PARKED.no)
}

/** Whether an instance with this link is a child: its parent gets its result. */
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
export function sendResultToParent(tx: Transaction, iid: Iid): void {
  tx.sql(TELL_PARENT).run(tx.now, iid)
}
