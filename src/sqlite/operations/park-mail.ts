import { WAKEABLE } from '../../store/claimable.ts'
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
 * Takes the mail of instances that nobody owns out of the way of claims and ticks, which would look at
 * it again and again. What can be claimed becomes due instead, and due instances are found by their
 * workflow. What cannot (suspended, or waiting for its first turn) has its mail read when it is resumed
 * or falls due. Answers whether there may be more of it, for another tick.
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
    or epoch = 0 and wake_at > ?
    or not exists (
      select 1 from runtimes, json_each(runtimes.workflows) as served
      where state = 'alive' and lease_until > ? and served.value = r.workflow
    )
  )`

/**
 * Whether mail of an instance is parked when it is sent, because nobody would find it now. One of a
 * workflow that no live runtime has becomes due, as in a tick.
 */
export function parkUnread(tx: Transaction, iid: Iid): boolean {
  if (tx.sql(UNREAD).get(iid, tx.now, tx.now) === undefined) return false
  tx.sql(MAKE_DUE).run(tx.now, iid, tx.now)
  return true
}
