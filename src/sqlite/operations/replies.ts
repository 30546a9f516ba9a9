import { REPLY_KEPT_MS } from '../../store/constants.ts'
import type { Transaction } from '../file/database.ts'

/** So that no tick takes long, whatever has piled up. */
const MAX_AT_ONCE = 500

/** Answers to requests; what has none yet is `undefined`. */
export function replies(tx: Transaction, to: readonly string[]): readonly (string | undefined)[] {
  return to.map((address) => {
    const row = tx.sql('select payload from replies where reply_to = ?').get(address) as
      | { payload: string }
      | undefined
    return row?.payload
  })
}

const REMOVE_OLD = `
delete from replies
where rowid in (select rowid from replies where at < ? order by at limit ?)`

/** Removes answers that have been there for long, some at a time. */
export function removeOldReplies(tx: Transaction): void {
  tx.sql(REMOVE_OLD).run(tx.now - REPLY_KEPT_MS, MAX_AT_ONCE)
}
