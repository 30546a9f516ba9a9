import type { Transaction } from '../file/database.ts'
import { nextDueSql } from './next-due.ts'

// What every transaction on a queue begins with, read by one statement.

/** The row of a queue, with what else is needed of it. */
export interface QueueCounters {
  readonly ready: number
  readonly in_flight: number
  readonly delayed: number
  readonly dead: number
  /** Of the whole file. */
  readonly next_id: number
  /** How many users it has, and whether the caller is one of them. */
  readonly users: number
  readonly own: number
  readonly next_due_at: number | null
}

const COUNTERS = `select ready, in_flight, delayed, dead,
    (select max(next_id) from queues) as next_id,
    (select count(*) from sessions where sessions.queue = queues.queue) as users,
    exists (select 1 from sessions where session = ? and sessions.queue = queues.queue) as own,
    ${nextDueSql('queues.queue')} as next_due_at
  from queues where queue = ?`

/** Reads the counters of a queue for one of its users. */
export function readCounters(tx: Transaction, queue: number, session: number): QueueCounters {
  return tx.sql(COUNTERS).get(session, queue) as QueueCounters
}
