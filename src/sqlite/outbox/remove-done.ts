import type { Transaction } from '../file/database.ts'
import { partitionsWithMessages } from './look.ts'
import { perPrefix } from './tables.ts'

const SQL = perPrefix((t) => ({
  remove: `
    delete from ${t.messages}
    where partition = ? and position in (
      select m.position from ${t.messages} as m
      where m.partition = ?
        and m.position <= (select p.cursor from ${t.partitions} as p where p.partition = m.partition)
      order by m.position
      limit ?
    )`,
}))

/** Removes messages behind the cursors of their partitions, up to a number of them. Returns how many. */
export function removeDone(tx: Transaction, prefix: string, limit: number): number {
  const statement = tx.sql(SQL(prefix).remove)
  let removed = 0
  for (const partition of partitionsWithMessages(tx, prefix)) {
    removed += statement.run(partition, partition, limit - removed)
    if (removed >= limit) break
  }
  return removed
}
