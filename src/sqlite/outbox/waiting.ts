import type { DeferredMessage, StoredMessage } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { perPrefix } from './tables.ts'

// Messages that wait apart. Only the first of each key has a time: those behind it follow when it is gone.

const SQL = perPrefix((t) => ({
  isAny: `select 1 from ${t.waiting} where partition = ? limit 1`,
  add: `
    insert into ${t.waiting}
      (partition, position, id, seq, enqueued_at, expires_at, failures, due_at, key, headers, payload)
    select m.partition, m.position, m.id, ?, m.enqueued_at, m.expires_at, ?,
      iif(exists (select 1 from ${t.waiting} as w where w.partition = m.partition and w.key = m.key),
        null, ?),
      m.key, m.headers, m.payload
    from ${t.messages} as m where m.partition = ? and m.position = ?`,
  remove: `delete from ${t.waiting} where partition = ? and position = ? returning key, handed`,
  retry: `
    update ${t.waiting} set failures = ?, due_at = ?, handed = 0
    where partition = ? and position = ?`,
  isHanded: `select handed from ${t.waiting} where partition = ? and position = ?`,
  promote: `
    update ${t.waiting} set due_at = ?
    where partition = ? and due_at is null
      and position = (select min(position) from ${t.waiting} where partition = ? and key = ?)`,
  due: `
    select position, id, seq, key, payload, headers, enqueued_at as enqueuedAt, expires_at as expiresAt,
      failures
    from ${t.waiting}
    where partition = ? and due_at is not null and due_at <= ?
    order by due_at, position
    limit ? offset ?`,
  hasKey: `select 1 from ${t.waiting} where partition = ? and key = ? limit 1`,
  firstAt: `select min(due_at) as at from ${t.waiting} where partition = ? and due_at is not null`,
  nextAt: `
    select min(due_at) as at from ${t.waiting}
    where partition = ? and due_at is not null and due_at > ?`,
  handOut: `update ${t.waiting} set handed = 1 where partition = ? and position = ?`,
  takeBack: `
    update ${t.waiting} indexed by ${t.waiting}_handed set handed = 0, failures = failures + ?
    where partition = ? and handed = 1`,
}))

/** Whether any message of a partition waits apart. */
export function hasWaiting(tx: Transaction, prefix: string, partition: number): boolean {
  return tx.sql(SQL(prefix).isAny).get(partition) !== undefined
}

/** Copies a message of the partition to those that wait. Returns whether there is such a message. */
export function addWaiting(
  tx: Transaction,
  prefix: string,
  partition: number,
  { position, seq, failures, dueAt }: DeferredMessage,
): boolean {
  return tx.sql(SQL(prefix).add).run(seq, failures, Math.ceil(dueAt), partition, position) > 0
}

/** A message that waits no longer. */
export interface RemovedWaiting {
  readonly key: string | null
  readonly wasHanded: boolean
}

/** Removes a message from those that wait. `promoteKeys` has to follow. */
export function removeWaiting(
  tx: Transaction,
  prefix: string,
  partition: number,
  position: number,
): RemovedWaiting | undefined {
  const row = tx.sql(SQL(prefix).remove).get(partition, position) as
    | { key: string | null; handed: number }
    | undefined
  return row && { key: row.key, wasHanded: row.handed === 1 }
}

/** Has a message wait until another time. Returns whether its owner was busy with it. */
export function retryWaiting(
  tx: Transaction,
  prefix: string,
  partition: number,
  position: number,
  retry: { readonly failures: number; readonly dueAt: number },
): boolean {
  const sql = SQL(prefix)
  const row = tx.sql(sql.isHanded).get(partition, position) as { handed: number } | undefined
  tx.sql(sql.retry).run(retry.failures, Math.ceil(retry.dueAt), partition, position)
  return row?.handed === 1
}

/** Makes the first message of each of these keys due, if it waited behind another one. */
export function promoteKeys(
  tx: Transaction,
  prefix: string,
  partition: number,
  keys: Iterable<string>,
): void {
  const statement = tx.sql(SQL(prefix).promote)
  for (const key of keys) statement.run(tx.now, partition, partition, key)
}

/** Messages that are due, some of them at a time. */
export function dueWaiting(
  tx: Transaction,
  prefix: string,
  partition: number,
  limit: number,
  offset: number,
): readonly StoredMessage[] {
  return tx.sql(SQL(prefix).due).all(partition, tx.now, limit, offset) as StoredMessage[]
}

/** Those of these keys of which messages wait. */
export function waitingKeys(
  tx: Transaction,
  prefix: string,
  partition: number,
  keys: Iterable<string>,
): readonly string[] {
  const statement = tx.sql(SQL(prefix).hasKey)
  return [...keys].filter((key) => statement.get(partition, key) !== undefined)
}

/** When the first message that waits is, or was, due. */
export function firstWaitingAt(tx: Transaction, prefix: string, partition: number): number | null {
  return (tx.sql(SQL(prefix).firstAt).get(partition) as { at: number | null }).at
}

/** When the next message is due that is not due yet. */
export function nextWaitingAt(tx: Transaction, prefix: string, partition: number): number | null {
  return (tx.sql(SQL(prefix).nextAt).get(partition, tx.now) as { at: number | null }).at
}

/** Notes that the owner is busy with these. */
export function handOutWaiting(
  tx: Transaction,
  prefix: string,
  partition: number,
  messages: readonly StoredMessage[],
): void {
  const statement = tx.sql(SQL(prefix).handOut)
  for (const { position } of messages) statement.run(partition, position)
}

/** Takes back what was handed out; a failure is counted if its owner has died. */
export function takeBackWaiting(
  tx: Transaction,
  prefix: string,
  partition: number,
  hasDied: boolean,
): void {
  tx.sql(SQL(prefix).takeBack).run(hasDied ? 1 : 0, partition)
}
