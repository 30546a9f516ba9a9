import { RANK } from '../../store/claimable.ts'
import type { Rate } from '../../store/rates.ts'
import { NO_VERSION } from '../../store/instances.ts'
import type { RegisteredWorkflow } from '../../store/runtimes.ts'
import type { Transaction } from '../file/database.ts'
import { wakeLine } from './lines.ts'
import { type LimitColumns, rateOf } from './task-limits.ts'

/** The limit of a workflow, as it is stored: it applies to all versions. */
export interface StoredLimit {
  /** The workflow whose row has it: the one without a version. */
  readonly workflow: number
  readonly concurrency: number | null
  readonly rate: Rate | undefined
  readonly isKeyed: boolean
}

interface LimitRow extends Omit<LimitColumns, 'limitKey'> {
  readonly workflow: number
  readonly keyed: number
}

const COLUMNS = `
limited.workflow as workflow, limited.concurrency as concurrency, limited.rate_count as rateCount,
limited.rate_ms as rateMs, limited.keyed as keyed`

const ALL = `
select ${COLUMNS}, versions.workflow as version
from workflows as limited join workflows as versions on versions.name = limited.name
where limited.keyed is not null`

/** The limits by the numbers of all versions of their workflows. Most files have none. */
export function allLimits(tx: Transaction): ReadonlyMap<number, StoredLimit> {
  const rows = tx.sql(ALL).all() as unknown as (LimitRow & { readonly version: number })[]
  return new Map(rows.map((row) => [row.version, toLimit(row)]))
}

const ONE = `select ${COLUMNS} from workflows as limited where workflow = ? and keyed is not null`

/** The limit in the row of a workflow; `undefined` if it has none, or none any more. */
export function limitIn(tx: Transaction, workflow: number): StoredLimit | undefined {
  const row = tx.sql(ONE).get(workflow) as LimitRow | undefined
  return row && toLimit(row)
}

function toLimit({ keyed, ...row }: LimitRow): StoredLimit {
  const { workflow, concurrency } = row
  return { workflow, concurrency, rate: rateOf(row), isKeyed: keyed === 1 }
}

const SET = `
update workflows set concurrency = ?, rate_count = ?, rate_ms = ?, keyed = ?
where workflow = ?
  and (concurrency is not ? or rate_count is not ? or rate_ms is not ? or keyed is not ?)`

// Without a key, all are one line, also those whose key was never computed.
const FORGET_KEYS = `
update admissions set limit_key = ''
where workflow = ? and state = 'unjudged' and limit_key is null`

// A new limit applies to all that never ran, also those that were started before a runtime said that there
// is a limit.
const UNRUN = `
r.workflow in (select workflow from workflows where name = ?)
  and r.wake_at is not null and r.epoch = 0 and r.admitted is null`

const LINE_UP_UNRUN = `
insert into admissions (iid, workflow, limit_key, priority, since, state)
select iid, ?, iif(?, null, ''), ${RANK}, wake_at, 'unjudged' from runs as r where ${UNRUN}
on conflict do nothing`

const MARK_UNRUN = `update runs as r set admitted = 0 where ${UNRUN}`

const LINES = `
select distinct limit_key as limitKey from admissions where workflow = ? and state = 'waiting'`

/** Stores the limit of a workflow that is registered. One that has changed judges its lines again. */
export function setLimit(tx: Transaction, given: RegisteredWorkflow, workflow: number): void {
  if (given.version !== NO_VERSION) return
  const { concurrency = null, rate = null, keyed = null } = given.limit ?? {}
  const isKeyed = keyed === null ? null : keyed ? 1 : 0
  const values = [concurrency, rate?.count ?? null, rate?.perMs ?? null, isKeyed]
  const wasLimited = limitIn(tx, workflow) !== undefined
  if (tx.sql(SET).run(...values, workflow, ...values) === 0) return
  if (keyed !== true) tx.sql(FORGET_KEYS).run(workflow)
  if (!wasLimited && isKeyed !== null) {
    tx.sql(LINE_UP_UNRUN).run(workflow, isKeyed, given.name)
    tx.sql(MARK_UNRUN).run(given.name)
  }
  const lines = tx.sql(LINES).all(workflow) as { limitKey: string }[]
  for (const { limitKey } of lines) wakeLine(tx, { workflow, limitKey }, tx.now)
}
