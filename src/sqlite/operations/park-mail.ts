import { UNADMITTED, WAKEABLE } from '../../store/claimable.ts'
import { MAX_MAIL_PARKED } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

// A cross join is done in the order written: there are few messages, and may be a million runs.
const UNOWNED = `
select distinct inbox.iid as iid
from inbox cross join runs on runs.iid = inbox.iid
where inbox.parked = 0 and runs.owner is null
limit ?`

const MAKE_DUE = `
update runs as r set wake_at = ?
where iid = ? and ${WAKEABLE} and (wake_at is null or wake_at > ?)`

/**
 * Parks the mail of unowned instances, which claims and ticks would otherwise read again and again.
 * An instance that can be claimed becomes due instead, and due instances are found by their
 * workflow. The mail of one that cannot be claimed (suspended, or waiting for its first turn) is
 * read when it is resumed or falls due. Returns whether there may be more, for another tick.
 */
export function parkMail(tx: Transaction): boolean {
  const unowned = tx.sql(UNOWNED).all(MAX_MAIL_PARKED) as { iid: Iid }[]
  for (const { iid } of unowned) {
    tx.sql(MAKE_DUE).run(tx.now, iid, tx.now)
    tx.sql('update inbox set parked = 1 where iid = ? and parked = 0').run(iid)
  }
  return unowned.length >= MAX_MAIL_PARKED
}

const UNREAD = `
select 1
from runs as r
where iid = ?
  and owner is null
  and (
    held
    or ${UNADMITTED}
    or epoch = 0 and wake_at > ?
    or not exists (
      select 1 from runtimes, json_each(runtimes.workflows) as served
      where state = 'alive' and lease_until > ? and served.value = r.workflow
    )
  )`

/**
 * Whether the mail of an instance is parked when it is sent, because no claim would find it now. An
 * instance of a workflow that no live runtime has becomes due, as in a tick.
 */
export function parkUnread(tx: Transaction, iid: Iid): boolean {
  if (tx.sql(UNREAD).get(iid, tx.now, tx.now) === undefined) return false
  tx.sql(MAKE_DUE).run(tx.now, iid, tx.now)
  return true
}
