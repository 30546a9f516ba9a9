import type { TaskInterest } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'
import { type Lane, serves, type Waiting } from './task-lanes.ts'
import type { LimitColumns } from './task-limits.ts'

// Where a claim finds tasks, each in the order of their numbers. A pool contains tasks that are
// alike in everything that could block them, so that one check decides for all of them.

/** A task that may be handed out as far as time goes, with all that is judged on. */
export interface Candidate extends Lane, LimitColumns {
  readonly number: number
  readonly session: string
  readonly pin: number
  readonly attempts: number
  readonly deaths: number
  readonly startBy: number | null
  /** Set when its owner has been silent for too long. */
  readonly owner: number | null
}

/** Tasks in the order of their numbers. */
export interface Source {
  /** Whether what blocks one of them blocks all. */
  readonly isPool: boolean
  /** The first with a greater number. */
  next(after: number): Candidate | undefined
}

const CANDIDATE = `
number, activity, tag, session, pin, attempts, deaths, start_by as startBy, held_by as owner,
limit_key as limitKey, concurrency, rate_count as rateCount, rate_ms as rateMs`

/** What the tasks of a pool have in common, beside their lane. */
export interface Pool {
  readonly limitKey: string
  readonly pin: number
}

const nextPool = (waiting: Waiting): string => `
select limit_key as limitKey, pin
from tasks
where activity = ? and tag = ? and (limit_key, pin) > (?, ?) and ${waiting}
order by limit_key, pin
limit 1`

/** Less than any pin. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER

/** The pools of a lane, from one to the next over all tasks between them. */
export function* poolsOf(
  tx: Transaction,
  { activity, tag }: Lane,
  waiting: Waiting,
): Generator<Pool> {
  const sql = nextPool(waiting)
  let pool: Pool | undefined = { limitKey: '', pin: BEFORE_ALL }
  do {
    pool = tx.sql(sql).get(activity, tag, pool.limitKey, pool.pin) as Pool | undefined
    if (pool !== undefined) yield pool
  } while (pool !== undefined)
}

const nextOfPool = (waiting: Waiting): string => `
select ${CANDIDATE}
from tasks
where activity = ? and tag = ? and limit_key = ? and pin = ? and number > ? and ${waiting}
order by number
limit 1`

/** The tasks of a pool. */
export function poolSource(
  tx: Transaction,
  { activity, tag }: Lane,
  { limitKey, pin }: Pool,
  waiting: Waiting,
): Source {
  const sql = nextOfPool(waiting)
  return {
    isPool: true,
    next: (after) => tx.sql(sql).get(activity, tag, limitKey, pin, after) as Candidate | undefined,
  }
}

const OF_SESSION = `
select ${CANDIDATE}
from tasks
where session = ? and session <> '' and held_by is null and visible_at is null
order by number`

/** The tasks of a session that a runtime serves. */
export function sessionSource(tx: Transaction, session: string, interest: TaskInterest): Source {
  const found = tx.sql(OF_SESSION).all(session) as Candidate[]
  return sourceOf(found.filter((task) => serves(interest, task)))
}

const SILENT = `
select ${CANDIDATE}
from tasks
where activity = ? and tag = ? and beat_until <= ?
order by number`

/** The tasks of a lane whose owners have been silent for too long. */
export function silentSource(tx: Transaction, { activity, tag }: Lane): Source {
  return sourceOf(tx.sql(SILENT).all(activity, tag, tx.now) as Candidate[])
}

function sourceOf(tasks: readonly Candidate[]): Source {
  let place = 0
  return {
    isPool: false,
    next(after) {
      while (place < tasks.length && tasks[place]!.number <= after) place++
      return tasks[place]
    },
  }
}
