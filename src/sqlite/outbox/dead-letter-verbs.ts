import type { DeadLetterRequest, DeadLetterRow } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { pending, readDeadLetters, select, type Selected, UNLIMITED } from './dead-letters.ts'
import { takePositions } from './positions.ts'
import { perPrefix, tablesOf } from './tables.ts'
import { after } from '../file/times.ts'

const COMPLETED: Selected = { where: `state in ('resolved', 'discarded')`, values: [] }

const SQL = perPrefix((t) => ({
  take: `
    update ${t.deadLetters} set state = 'reprocessing', deadline = ?
    where letter in (select value from json_each(?))`,
  resolve: `
    update ${t.deadLetters} set state = 'resolved', completed_at = ?, deadline = null
    where letter in (select value from json_each(?)) and state = 'reprocessing'`,
  reject: `
    update ${t.deadLetters}
    set state = 'pending', failures = failures + 1, reason = ?, failed_at = ?, deadline = null
    where letter in (select value from json_each(?)) and state = 'reprocessing'`,
  discard: `
    update ${t.deadLetters} set state = 'discarded', completed_at = ?, deadline = null
    where letter in (select value from json_each(?))`,
  remove: `delete from ${t.deadLetters} where letter in (select value from json_each(?))`,
  requeueable: `
    select letter, partition from ${t.deadLetters}
    where letter in (select value from json_each(?)) and state in ('pending', 'reprocessing')
    order by partition, seq, letter`,
  requeue: `
    insert into ${t.messages}
      (partition, position, id, enqueued_at, expires_at, key, headers, payload)
    select partition, ?, id, enqueued_at, null, key, headers, payload
    from ${t.deadLetters} where letter = ?`,
}))

/** Takes pending ones, and those of replays that missed their deadline. Returns the new rows, oldest first. */
export function replayDeadLetters(
  tx: Transaction,
  prefix: string,
  request: DeadLetterRequest,
  deadlineMs: number,
): readonly DeadLetterRow[] {
  const letters = oldest(tx, prefix, request, pending(tx.now))
  tx.sql(SQL(prefix).take).run(after(tx.now, deadlineMs), JSON.stringify(letters))
  return readDeadLetters(tx, prefix, letters)
}

/** Ends replays with success. Returns how many there were. */
export function resolveDeadLetters(
  tx: Transaction,
  prefix: string,
  letters: readonly number[],
): number {
  return tx.sql(SQL(prefix).resolve).run(tx.now, JSON.stringify(letters))
}

/** Ends replays without success. Returns how many there were. */
export function rejectDeadLetters(
  tx: Transaction,
  prefix: string,
  letters: readonly number[],
  reason: string,
): number {
  return tx.sql(SQL(prefix).reject).run(reason, tx.now, JSON.stringify(letters))
}

/** Gives up pending ones. Returns how many. */
export function discardDeadLetters(
  tx: Transaction,
  prefix: string,
  request: DeadLetterRequest,
): number {
  const letters = oldest(tx, prefix, request, pending(tx.now))
  return tx.sql(SQL(prefix).discard).run(tx.now, JSON.stringify(letters))
}

/** Removes those that are resolved or discarded. Returns how many. */
export function cleanupDeadLetters(
  tx: Transaction,
  prefix: string,
  request: DeadLetterRequest,
): number {
  const letters = oldest(tx, prefix, request, COMPLETED)
  return tx.sql(SQL(prefix).remove).run(JSON.stringify(letters))
}

/** Puts them back into their partitions, behind all others. Returns the partition of each. */
export function requeueDeadLetters(
  tx: Transaction,
  prefix: string,
  letters: readonly number[],
): readonly number[] {
  const sql = SQL(prefix)
  const found = tx.sql(sql.requeueable).all(JSON.stringify(letters)) as {
    letter: number
    partition: number
  }[]
  if (found.length === 0) return []
  let position = takePositions(tx, prefix, found.length)
  for (const { letter } of found) tx.sql(sql.requeue).run(position++, letter)
  tx.sql(sql.remove).run(JSON.stringify(found.map(({ letter }) => letter)))
  return found.map(({ partition }) => partition)
}

function oldest(
  tx: Transaction,
  prefix: string,
  request: DeadLetterRequest,
  also: Selected,
): readonly number[] {
  const { where, values } = select(request, tx.now, also)
  const text = `
    select letter from ${tablesOf(prefix).deadLetters}
    where ${where}
    order by failed_at, letter
    limit ?`
  const rows = tx.sql(text).all(...values, request.limit ?? UNLIMITED) as { letter: number }[]
  return rows.map(({ letter }) => letter)
}
