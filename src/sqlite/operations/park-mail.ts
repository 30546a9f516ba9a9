import { WAKEABLE } from '../../store/claimable.ts'
import { MAX_MAIL_PARKED } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../database.ts'

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
 * or falls due.
 */
export function parkMail(tx: Transaction): void {
  for (const { iid } of tx.sql(UNOWNED).all(MAX_MAIL_PARKED) as { iid: Iid }[]) {
    tx.sql(MAKE_DUE).run(tx.now, iid, tx.now)
    tx.sql('update inbox set parked = 1 where iid = ? and parked = 0').run(iid)
  }
}
