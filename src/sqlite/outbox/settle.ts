import type { DeadMessage, Settlement } from '../../store/outbox-store.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Transaction } from '../file/database.ts'
import type { PartitionRow } from './partition-row.ts'
import { perPrefix } from './tables.ts'
import {
  addWaiting,
  promoteKeys,
  type RemovedWaiting,
  removeWaiting,
  retryWaiting,
} from './waiting.ts'

const COPIED = 'partition, id, seq, enqueued_at, failures, failed_at, reason, key, headers, payload'

const SQL = perPrefix((t) => {
  const copyFrom = (table: string): string => `
    insert into ${t.deadLetters} (${COPIED})
    select partition, id, ?, enqueued_at, ?, ?, ?, key, headers, payload
    from ${table} where partition = ? and position = ?`
  return { fromWaiting: copyFrom(t.waiting), fromMessages: copyFrom(t.messages) }
})

/**
 * Writes what became of messages that were handed out, and returns the partition as it is now: the caller
 * has judged the settlement, and saves the row.
 */
export function settle(
  tx: Transaction,
  prefix: string,
  row: PartitionRow,
  settlement: Settlement,
): PartitionRow {
  const { to, passed, done, failures, later, dueAt } = settlement
  const handedBack = settleMessages(tx, prefix, row.partition, settlement)
  return {
    ...row,
    cursor: to,
    seq: row.seq + passed,
    handed: Math.max(0, row.handed - passed + doneBefore(row, to) - newlyDone(row, settlement)),
    handedWaiting: Math.max(0, row.handedWaiting - handedBack),
    done: done.filter((position) => position > to),
    failures: new Map([...failures].filter(([position]) => position > to)),
    later: new Map(
      [...later].flatMap(([position, at]) => (position > to ? [[position, Math.ceil(at)]] : [])),
    ),
    dueAt: dueAt === null ? null : Math.ceil(dueAt),
  }
}

/** Messages that were passed now and done before: they were not handed out. */
function doneBefore({ done }: PartitionRow, to: number): number {
  return done.filter((position) => position <= to).length
}

function newlyDone(row: PartitionRow, { to, done }: Settlement): number {
  return done.length - row.done.filter((position) => position > to).length
}

/** Returns how many that waited apart are no longer handed out. */
function settleMessages(
  tx: Transaction,
  prefix: string,
  partition: number,
  { dead, deferred, waiting }: Settlement,
): number {
  const removed: (RemovedWaiting | undefined)[] = []
  let retried = 0
  for (const message of dead) {
    bury(tx, prefix, partition, message)
    removed.push(removeWaiting(tx, prefix, partition, message.position))
  }
  for (const { position, retry } of waiting) {
    if (retry === null) removed.push(removeWaiting(tx, prefix, partition, position))
    else if (retryWaiting(tx, prefix, partition, position, retry)) retried++
  }
  // In their order: only the first of a key gets a time.
  for (const message of deferred.toSorted((a, b) => a.position - b.position)) {
    if (!addWaiting(tx, prefix, partition, message)) throw missing(partition, message.position)
  }
  const keys = removed.flatMap((one) =>
    one?.key === undefined || one.key === null ? [] : [one.key],
  )
  promoteKeys(tx, prefix, partition, new Set(keys))
  return retried + removed.filter((one) => one?.wasHanded === true).length
}

function bury(tx: Transaction, prefix: string, partition: number, message: DeadMessage): void {
  const { position, seq, failures, reason } = message
  const values = [seq, failures, tx.now, reason, partition, position] as const
  const sql = SQL(prefix)
  if (tx.sql(sql.fromWaiting).run(...values) > 0) return
  if (tx.sql(sql.fromMessages).run(...values) > 0) return
  throw missing(partition, position)
}

// The cursor passes only what is somewhere else from now on.
function missing(partition: number, position: number): StoreError {
  return new StoreError(
    'corrupt',
    'sqlite outbox',
    `partition ${partition} has no message at position ${position}`,
  )
}
