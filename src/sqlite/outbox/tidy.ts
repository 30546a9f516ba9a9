import type { Transaction } from '../file/database.ts'
import { perPrefix } from './tables.ts'

/** How long to keep what is no longer needed. */
export interface Keep {
  readonly keysMs: number
  readonly lettersMs: number
}

// Others wait while rows are removed: not for long at a time.
const AT_ONCE = 1_000

const SQL = perPrefix((t) => ({
  keys: `
    delete from ${t.keys}
    where (topic, key) in (select topic, key from ${t.keys} where at < ? order by at limit ?)`,
  letters: `
    delete from ${t.deadLetters}
    where letter in (
      select letter from ${t.deadLetters}
      where completed_at is not null and completed_at < ?
      order by completed_at
      limit ?
    )`,
  giveBack: `
    update ${t.deadLetters} set state = 'pending', deadline = null
    where deadline is not null and deadline <= ?`,
}))

/** Removes old dedupe keys and completed dead letters, and ends late replays. Returns whether there may be more. */
export function tidy(tx: Transaction, prefix: string, keep: Keep): boolean {
  const sql = SQL(prefix)
  const keys = tx.sql(sql.keys).run(tx.now - keep.keysMs, AT_ONCE)
  const letters = tx.sql(sql.letters).run(tx.now - keep.lettersMs, AT_ONCE)
  tx.sql(sql.giveBack).run(tx.now)
  return keys === AT_ONCE || letters === AT_ONCE
}
