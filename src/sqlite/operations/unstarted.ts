import {
  MAX_UNSTARTED_MESSAGES_REMOVED,
  MAX_UNSTARTED_REMOVED,
  UNSTARTED_KEPT_MS,
} from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

// Instances that have messages but were never started. There is one writer at a time: none is
// removed while another call sends to it or starts it.

/** The word in the files for an instance that was never started: older versions read them, too. */
const UNSTARTED = `'absent'`

/** The status of an instance, in the words of the port. */
export const STATUS = `iif(instances.status = ${UNSTARTED}, 'unstarted', instances.status)`

const INSERT_UNSTARTED = `
insert into instances (iid, id, execution, status, created_at, updated_at, early)
values (?, ?, 0, ${UNSTARTED}, ?, ?, 1)`

/** The first message for an id without an instance. */
export function insertUnstarted(tx: Transaction, iid: Iid, id: string): void {
  tx.sql(INSERT_UNSTARTED).run(iid, id, tx.now, tx.now)
}

/** Another message for it: all of them are kept for as long again. */
export function keepUnstarted(tx: Transaction, iid: Iid): void {
  tx.sql('update instances set updated_at = ?, early = early + 1 where iid = ?').run(tx.now, iid)
}

const EXPIRED = `
select iid from instances
where status = ${UNSTARTED} and updated_at < ?
order by updated_at
limit ?`

/**
 * Removes those whose newest message is too old, some at a time; returns how many messages were removed.
 */
export function removeUnstarted(tx: Transaction): number {
  const expired = tx.sql(EXPIRED).all(tx.now - UNSTARTED_KEPT_MS, MAX_UNSTARTED_REMOVED) as {
    iid: Iid
  }[]
  let messages = 0
  for (const { iid } of expired) {
    if (messages >= MAX_UNSTARTED_MESSAGES_REMOVED) break
    messages += tx.sql('delete from inbox where iid = ?').run(iid)
    tx.sql('delete from posted where iid = ?').run(iid)
    tx.sql('delete from instances where iid = ?').run(iid)
  }
  return messages
}
