import type { PageRequest } from '../../store/queue-store.ts'
import type { Transaction } from '../file/database.ts'
import { COLUMNS, countWithinLimit, type MessageRow, toRecord } from './messages.ts'
import type { Packed } from '../packing/packing.ts'
import { packRecords } from './packed-records.ts'
import { DEAD } from './queue-row.ts'

/** The most in one page, however many are wanted. */
const MAX_AT_ONCE = 1_000

/** The record with this id, if it is in the queue. */
export function findRecord(tx: Transaction, queue: number, id: number): Packed {
  const row = tx
    .sql(`select ${COLUMNS} from messages where id = ? and queue = ?`)
    .get(id, queue) as MessageRow | undefined
  return packRecords(row === undefined ? [] : [toRecord(tx, row)])
}

/** A page of records, by id. */
export function readPage(tx: Transaction, queue: number, request: PageRequest): Packed {
  const { after, limit, dead } = request
  const rows = tx
    .sql(
      `select ${COLUMNS} from messages
       where queue = ? and id > ? ${dead ? `and state = ${DEAD}` : ''} order by id limit ?`,
    )
    .all(queue, after, Math.min(limit, MAX_AT_ONCE)) as MessageRow[]
  const count = countWithinLimit(rows)
  return packRecords(rows.slice(0, count).map((row) => toRecord(tx, row)))
}
