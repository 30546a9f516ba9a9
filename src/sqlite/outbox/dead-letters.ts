import type { DeadLetterRequest, DeadLetterRow } from '../../store/outbox-store.ts'
import type { Value } from '../connect/driver.ts'
import type { Transaction } from '../file/database.ts'
import { tablesOf } from './tables.ts'

const COLUMNS = `letter, partition, id, seq, key, payload, headers, enqueued_at as enqueuedAt, failures,
  state, reason, failed_at as failedAt, completed_at as completedAt, deadline`

/** Dead letters that a request asks for: a condition, and the values in it. */
export interface Selected {
  readonly where: string
  readonly values: readonly Value[]
}

/** Pending ones, also those whose replay missed its deadline, before tidying has written that. */
export function pending(now: number): Selected {
  return {
    where: `state = 'pending' or (state = 'reprocessing' and deadline <= ?)`,
    values: [now],
  }
}

/** What a request selects, of those that meet another condition as well. */
export function select(request: DeadLetterRequest, now: number, also?: Selected): Selected {
  const { partitions, state, after } = request
  const parts: [string, ...Value[]][] = []
  if (also !== undefined) parts.push([also.where, ...also.values])
  if (state === 'pending') parts.push([pending(now).where, now])
  else if (state === 'reprocessing') parts.push([`state = 'reprocessing' and deadline > ?`, now])
  else if (state !== null) parts.push(['state = ?', state])
  if (partitions !== null) parts.push(['partition between ? and ?', partitions.from, partitions.to])
  // The first part alone can be looked up in an index.
  if (after !== null) {
    const { failedAt, letter } = after
    parts.push(['failed_at <= ? and (failed_at < ? or letter < ?)', failedAt, failedAt, letter])
  }
  return {
    where: parts.length === 0 ? 'true' : parts.map(([where]) => `(${where})`).join(' and '),
    values: parts.flatMap(([, ...values]) => values),
  }
}

/** No limit, as SQLite has it. */
export const UNLIMITED = -1

/** Dead letters, newest first. */
export function findDeadLetters(
  tx: Transaction,
  prefix: string,
  request: DeadLetterRequest,
): readonly DeadLetterRow[] {
  const { where, values } = select(request, tx.now)
  const text = `
    select ${COLUMNS} from ${tablesOf(prefix).deadLetters}
    where ${where}
    order by failed_at desc, letter desc
    limit ?`
  const rows = tx.sql(text).all(...values, request.limit ?? UNLIMITED) as DeadLetterRow[]
  return rows.map((row) =>
    row.deadline !== null && row.deadline <= tx.now
      ? { ...row, state: 'pending', deadline: null }
      : row,
  )
}

/** How many there are, whatever the limit of the request. */
export function countDeadLetters(
  tx: Transaction,
  prefix: string,
  request: DeadLetterRequest,
): number {
  const { where, values } = select(request, tx.now)
  const text = `select count(*) as n from ${tablesOf(prefix).deadLetters} where ${where}`
  return (tx.sql(text).get(...values) as { n: number }).n
}

/** Dead letters by their numbers, oldest first. */
export function readDeadLetters(
  tx: Transaction,
  prefix: string,
  letters: readonly number[],
): readonly DeadLetterRow[] {
  const text = `
    select ${COLUMNS} from ${tablesOf(prefix).deadLetters}
    where letter in (select value from json_each(?))
    order by failed_at, letter`
  return tx.sql(text).all(JSON.stringify(letters)) as DeadLetterRow[]
}
