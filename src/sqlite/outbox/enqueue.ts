import type { Enqueued, NewMessage } from '../../store/outbox-store.ts'
import type { Value } from '../connect/driver.ts'
import type { Transaction } from '../file/database.ts'
import { takePositions } from './positions.ts'
import { perPrefix } from './tables.ts'
import { after } from '../file/times.ts'

const SQL = perPrefix((t) => ({
  first: `select id from ${t.keys} where topic = ? and key = ?`,
  remember: `insert into ${t.keys} (topic, key, id, at) values (?, ?, ?, ?)`,
  add: `
    insert into ${t.messages}
      (partition, position, id, enqueued_at, expires_at, key, headers, payload)
    values (?, ?, ?, ?, ?, ?, ?, ?)`,
  delay: `
    insert into ${t.delayed}
      (due_at, id, partition, enqueued_at, expires_at, key, headers, payload)
    values (?, ?, ?, ?, ?, ?, ?, ?)`,
}))

/** Stores messages in their order. The caller undoes everything when it throws. */
export function enqueue(
  tx: Transaction,
  prefix: string,
  messages: readonly NewMessage[],
): readonly Enqueued[] {
  if (messages.length === 0) return []
  const sql = SQL(prefix)
  let position = takePositions(tx, prefix, messages.length)
  return messages.map((message) => {
    const { topic, partition, delayMs, ttlMs, dedupeKey, key, headers, payload } = message
    if (dedupeKey !== null) {
      const first = tx.sql(sql.first).get(topic, dedupeKey) as { id: number } | undefined
      if (first !== undefined) return { id: first.id, isDuplicate: true }
    }
    const id = position++
    const isDelayed = delayMs > 0
    const dueAt = isDelayed ? after(tx.now, delayMs) : tx.now
    const expiresAt = ttlMs === null ? null : after(dueAt, ttlMs)
    const content: Value[] = [tx.now, expiresAt, key, headers, payload]
    if (isDelayed) tx.sql(sql.delay).run(dueAt, id, partition, ...content)
    else tx.sql(sql.add).run(partition, id, id, ...content)
    if (dedupeKey !== null) tx.sql(sql.remember).run(topic, dedupeKey, id, tx.now)
    return { id, isDuplicate: false }
  })
}
