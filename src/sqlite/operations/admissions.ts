// Which instances of a workflow with a limit may run. See "Limits of workflows" in
// docs/internals/architecture.md.
//
//   - A start is `unjudged`. The first claim after it is due judges its line: the limit of its key.
//   - Those that are not admitted wait in line, and are not due. While an instance waits in line and the
//     limit has room, or will have it by time alone, one of the line has a `wake_at`, at which a claim
//     judges the line again.
//   - One that leaves (ends, or is suspended while it waits) wakes the line.

import { UNADMITTED } from '../../store/claimable.ts'
import type { ClaimAnswer } from '../../store/claims.ts'
import { MAX_JUDGED } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { StartItem } from '../../store/commits.ts'
import type { Transaction } from '../file/database.ts'
import { allLimits, limitIn, type StoredLimit } from './limits.ts'
import { type Line, firstInLine, wakeLine } from './lines.ts'
import { Limits } from './task-limits.ts'

const LINE_UP = `
insert into admissions (iid, workflow, limit_key, priority, since, state)
values (?, ?, ?, ?, ?, 'unjudged')`

/** A new instance waits for the limit of its workflow. */
export function lineUp(
  tx: Transaction,
  {
    iid,
    priority = 0,
    limitKey,
    wakeAt,
  }: Pick<StartItem, 'iid' | 'priority' | 'limitKey' | 'wakeAt'>,
  limit: StoredLimit,
): void {
  const key = limit.isKeyed ? (limitKey ?? null) : ''
  const since = Math.max(wakeAt ?? 0, tx.now)
  tx.sql(LINE_UP).run(iid, limit.workflow, key, priority, since)
}

const NEVER_RAN = `
select workflow, coalesce(priority, 0) as priority, wake_at as wakeAt
from runs
where iid = ? and epoch = 0 and admitted is null`

/**
 * Of instances that are about to be claimed, lines up those that never ran and have a limit that their start
 * did not know of: they were suspended when it was registered. They are due, and the next claim judges them.
 */
export function lineUpLate(tx: Transaction, iids: readonly Iid[]): readonly Iid[] {
  const limits = allLimits(tx)
  if (limits.size === 0) return []
  return iids.filter((iid) => {
    const run = tx.sql(NEVER_RAN).get(iid) as
      | { workflow: number; priority: number; wakeAt: number | null }
      | undefined
    const limit = run && limits.get(run.workflow)
    // A request to end does not wait for a place.
    if (run === undefined || limit === undefined || tx.sql(IS_ENDING).get(iid) !== undefined)
      return false
    tx.sql('update runs set admitted = 0 where iid = ?').run(iid)
    lineUp(tx, { iid, ...run }, limit)
    return true
  })
}

const DUE = `
select iid from runs as r
where workflow = ? and wake_at <= ? and ${UNADMITTED}
order by wake_at
limit ?`

const HINTED = `
select iid from runs as r
where iid = ? and wake_at <= ? and ${UNADMITTED} and workflow in (select value from json_each(?))`

/**
 * Judges the limits of instances that are due and not admitted. Returns those whose key is not known
 * yet, and whether there may be more to judge than one call does.
 */
export function admitDue(
  tx: Transaction,
  workflows: readonly number[],
  hinted: readonly Iid[],
): Pick<ClaimAnswer, 'unkeyed' | 'hasMore'> {
  const due = new Set<Iid>()
  const ours = JSON.stringify(workflows)
  // Hinted ones first: a start is judged at once, however many of other keys arrived before it.
  for (const iid of hinted.slice(0, MAX_JUDGED)) {
    if (tx.sql(HINTED).get(iid, tx.now, ours) !== undefined) due.add(iid)
  }
  for (const workflow of workflows) {
    if (due.size >= MAX_JUDGED) break
    const rows = tx.sql(DUE).all(workflow, tx.now, MAX_JUDGED) as { iid: Iid }[]
    for (const { iid } of rows) due.add(iid)
  }
  const lines = new Map<string, { line: Line; iids: Iid[] }>()
  const unkeyed: Iid[] = []
  for (const iid of due) {
    const { workflow, limitKey } = tx.sql(LINE_OF).get(iid) as LineRow
    if (limitKey === null) {
      unkeyed.push(iid)
      continue
    }
    const name = JSON.stringify([workflow, limitKey])
    const judged = lines.get(name) ?? { line: { workflow, limitKey }, iids: [] }
    judged.iids.push(iid)
    lines.set(name, judged)
  }
  const limits = new Limits(tx)
  for (const { line, iids } of lines.values()) admit(tx, limits, line, iids)
  return {
    ...(unkeyed.length > 0 && { unkeyed }),
    ...(due.size >= MAX_JUDGED && { hasMore: true }),
  }
}

interface LineRow {
  readonly workflow: number
  readonly limitKey: string | null
}

const LINE_OF = 'select workflow, limit_key as limitKey from admissions where iid = ?'

const IS_ENDING = `
select 1 from inbox where iid = ? and kind in ('cancel', 'terminate') limit 1`

const JOIN = `update admissions set state = 'waiting' where iid = ? and state = 'unjudged'`

const ADMITTED = `
select count(*) as count
from (
  select 1 from admissions where workflow = ? and limit_key = ? and state = 'admitted' limit ?
)`

/** Admits as many of a line as its limit allows, by priority and then in the order of their starts. */
function admit(tx: Transaction, limits: Limits, line: Line, iids: readonly Iid[]): void {
  for (const iid of iids) {
    // A request to end does not wait for a place: no code of it runs.
    if (tx.sql(IS_ENDING).get(iid) !== undefined) {
      tx.sql('delete from admissions where iid = ?').run(iid)
      tx.sql('update runs set admitted = null where iid = ?').run(iid)
      continue
    }
    tx.sql(JOIN).run(iid)
    tx.sql('update runs set wake_at = null where iid = ?').run(iid)
  }
  const limit = limitIn(tx, line.workflow)
  const left = placesLeft(tx, line, limit?.concurrency ?? null)
  if (left <= 0) return
  const first = firstInLine(tx, line, left)
  for (const iid of first) {
    const opensAt = limits.rateOpensAt(rateKeyOf(line), limit?.rate)
    if (opensAt > tx.now) return void wakeLine(tx, line, opensAt)
    limits.spend(rateKeyOf(line), limit?.rate)
    takePlace(tx, iid)
  }
  // There may be more than one call admits.
  if (first.length >= MAX_JUDGED) wakeLine(tx, line, tx.now)
}

/** The name of a rate among those of tasks, which are JSON. */
function rateKeyOf({ workflow, limitKey }: Line): string {
  return `w${workflow} ${limitKey}`
}

const LEAVE =
  'delete from admissions where iid = ? returning workflow, limit_key as limitKey, state'

/**
 * An instance of a workflow with a limit has ended. Its place goes to the first in line; where that is not
 * all there is to it, because of a rate or a limit that changed, the line is judged again. Returns one that
 * is due because of it.
 */
export function leaveLine(tx: Transaction, iid: Iid): Iid | undefined {
  const left = tx.sql(LEAVE).get(iid) as (LineRow & { readonly state: string }) | undefined
  if (left === undefined || left.limitKey === null) return undefined
  const line = { workflow: left.workflow, limitKey: left.limitKey }
  const limit = limitIn(tx, line.workflow)
  const isSimple = limit !== undefined && limit.rate === undefined && left.state === 'admitted'
  if (!isSimple || placesLeft(tx, line, limit.concurrency) <= 0) {
    // If one was about to be judged, it is still due.
    return isSimple ? undefined : wakeLine(tx, line, tx.now)
  }
  const [first] = firstInLine(tx, line, 1)
  if (first === undefined) return undefined
  const wasDue = tx.sql('select 1 from runs where iid = ? and wake_at is not null').get(first)
  takePlace(tx, first)
  // It had the line judged, for other places.
  if (wasDue !== undefined) wakeLine(tx, line, tx.now)
  return first
}

function takePlace(tx: Transaction, iid: Iid): void {
  tx.sql(`update admissions set state = 'admitted' where iid = ?`).run(iid)
  tx.sql('update runs set admitted = 1, wake_at = ? where iid = ?').run(tx.now, iid)
}

/** How many more a line may admit, at the most `MAX_JUDGED`. */
function placesLeft(
  tx: Transaction,
  { workflow, limitKey }: Line,
  concurrency: number | null,
): number {
  if (concurrency === null) return MAX_JUDGED
  const { count } = tx.sql(ADMITTED).get(workflow, limitKey, concurrency) as { count: number }
  return Math.min(MAX_JUDGED, concurrency - count)
}

const STEP_ASIDE = `
update admissions set state = 'unjudged'
where iid = ? and state = 'waiting'
returning workflow, limit_key as limitKey`

/** An instance that waits is suspended: it leaves its line, and keeps its place in it. */
export function stepAside(tx: Transaction, iid: Iid): void {
  const line = tx.sql(STEP_ASIDE).get(iid) as Line | undefined
  if (line !== undefined) wakeLine(tx, line, tx.now)
}

const SET_KEY = 'update admissions set limit_key = ? where iid = ? and limit_key is null'

/** Records the keys of instances that were started without one. The first that is recorded counts. */
export function setLimitKeys(
  tx: Transaction,
  keys: readonly { readonly iid: Iid; readonly key: string }[],
): void {
  for (const { iid, key } of keys) tx.sql(SET_KEY).run(key, iid)
}
