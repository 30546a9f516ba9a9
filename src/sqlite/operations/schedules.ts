import { SCHEDULE_STEP_BACK_MS } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { DueSchedules, Firing, Move, NewSchedule, ScheduleRow } from '../../store/schedules.ts'
import type { Transaction } from '../file/database.ts'

const INSERT = `
insert into schedules (
  name, revision, workflow, timing, template, anchor, next_at, wake_at, set_at, created_at, updated_at
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const CHANGE = `
update schedules
set revision = ?, workflow = ?, timing = ?, template = ?, anchor = ?, next_at = ?,
  wake_at = case when paused = 0 then ? end, set_at = ?, updated_at = ?, error = null, error_at = null
where name = ?`

/** Creates a schedule, or changes the one that has its name. */
export function putSchedule(
  tx: Transaction,
  schedule: NewSchedule,
): 'created' | 'changed' | 'unchanged' {
  const { name, revision, workflow, timing, template, anchor, nextAt } = schedule
  const { now } = tx
  const known = tx
    .sql(
      `select workflow, timing, template, anchor, next_at as nextAt, set_at as setAt
       from schedules where name = ?`,
    )
    .get(name) as (Omit<NewSchedule, 'name' | 'revision'> & { setAt: number }) | undefined
  if (known === undefined) {
    const values = [name, revision, workflow, timing, template, anchor, nextAt, nextAt]
    tx.sql(INSERT).run(...values, anchor, now, now)
    return 'created'
  }
  const isSameTiming = known.timing === timing
  if (isSameTiming && known.workflow === workflow && known.template === template) return 'unchanged'
  const next = isSameTiming ? known : { anchor, nextAt, setAt: anchor }
  const values = [revision, workflow, timing, template, next.anchor, next.nextAt, next.nextAt]
  tx.sql(CHANGE).run(...values, next.setAt, now, name)
  return 'changed'
}

const COLUMNS = `
s.name as name, s.revision as revision, s.workflow as workflow, s.timing as timing,
s.template as template, s.anchor as anchor, s.next_at as nextAt, s.wake_at as wakeAt,
s.set_at as setAt, s.paused as paused, s.running as running, s.created_at as createdAt,
s.updated_at as updatedAt, s.last_at as lastAt, s.last_id as lastId, s.started as started,
s.skipped as skipped, s.skipped_at as skippedAt, s.missed as missed, s.missed_at as missedAt,
s.error as error, s.error_at as errorAt, w.name as workflowName, w.version as workflowVersion`

const FROM = 'from schedules as s join workflows as w on w.workflow = s.workflow'

const ALL = `select ${COLUMNS} ${FROM} order by s.name`

const NAMED = `
select ${COLUMNS} ${FROM}
where s.name in (select value from json_each(?))
order by s.name`

/** The schedules with these names, or all. */
export function readSchedules(
  tx: Transaction,
  names: readonly string[] | undefined,
): readonly ScheduleRow[] {
  const rows = names === undefined ? tx.sql(ALL).all() : tx.sql(NAMED).all(JSON.stringify(names))
  return (rows as StoredSchedule[]).map((row) => toRow(tx, row))
}

interface StoredSchedule extends Omit<ScheduleRow, 'paused' | 'running' | 'workflowName'> {
  readonly paused: number
  readonly running: string
  readonly workflowName: string
  readonly workflowVersion: string
}

function toRow(tx: Transaction, stored: StoredSchedule): ScheduleRow {
  const { workflowName, workflowVersion, paused, running, ...row } = stored
  return {
    ...row,
    paused: paused === 1,
    workflowName: { name: workflowName, version: workflowVersion },
    running: unfinished(tx, running),
  }
}

// A cross join is done in the order written.
const UNFINISHED = `
select runs.iid as iid, instances.id as id
from json_each(?)
cross join runs on runs.iid = json_each.value
cross join instances on instances.iid = runs.iid
order by json_each.key`

/** Those of these instances that have not ended. */
export function unfinished(tx: Transaction, iids: string): readonly { iid: Iid; id: string }[] {
  if (iids === '[]') return []
  const rows = tx.sql(UNFINISHED).all(iids) as { iid: Iid; id: string }[]
  return rows.map(({ iid, id }) => ({ iid, id }))
}

export function removeSchedule(tx: Transaction, name: string): boolean {
  return tx.sql('delete from schedules where name = ?').run(name) > 0
}

const MOVE = `
update schedules
set next_at = ?, paused = ?, wake_at = ?, set_at = ?
where name = ? and revision = ? and next_at = ?`

/** Sets the next due time, and whether the schedule is paused. */
export function moveSchedule(tx: Transaction, move: Move): boolean {
  const { name, revision, due, nextAt, setAt, paused } = move
  const wakeAt = paused ? null : nextAt
  const values = [nextAt, paused ? 1 : 0, wakeAt, setAt, name, revision, due]
  return tx.sql(MOVE).run(...values) > 0
}

const FAIL = `
update schedules
set error = ?, error_at = ?
where name = ? and revision = ? and next_at = ? and wake_at is not null`

/** Records why a runtime cannot fire a schedule at this due time. */
export function failSchedule(
  tx: Transaction,
  { name, revision, due }: Pick<Firing, 'name' | 'revision' | 'due'>,
  error: string,
): void {
  tx.sql(FAIL).run(error, tx.now, name, revision, due)
}

const DUE = `
select ${COLUMNS} ${FROM}
where s.wake_at <= ?
order by s.wake_at
limit ?`

const TURNED_BACK = `
select ${COLUMNS} ${FROM}
where s.set_at > ? and s.wake_at is not null
order by s.set_at
limit ?`

const NEXT = 'select min(wake_at) as at from schedules where wake_at > ?'

/** What is to be dealt with now. */
export function dueSchedules(
  tx: Transaction,
  limit: number,
  names: readonly string[],
): DueSchedules {
  const { now } = tx
  const due = tx.sql(DUE).all(now, limit) as StoredSchedule[]
  const isNew = ({ name }: { name: string }): boolean => !due.some((known) => known.name === name)
  if (names.length > 0) {
    const named = tx.sql(NAMED).all(JSON.stringify(names)) as StoredSchedule[]
    due.push(...named.filter((row) => row.wakeAt !== null && isNew(row)))
  }
  const turnedBack = tx.sql(TURNED_BACK).all(now + SCHEDULE_STEP_BACK_MS, limit) as StoredSchedule[]
  due.push(...turnedBack.filter(isNew))
  const { at } = tx.sql(NEXT).get(now) as { at: number | null }
  return { clock: now, schedules: due.map((row) => toRow(tx, row)), next: at }
}

const IS_TURNED_BACK = 'select 1 from schedules where set_at > ? and wake_at is not null limit 1'
const FIRST = 'select min(wake_at) as at from schedules where wake_at is not null'

/** When a schedule has to be looked at; `null` for none. */
export function nextScheduleAt(tx: Transaction): number | null {
  const { at } = tx.sql(FIRST).get() as { at: number | null }
  if (at === null || at <= tx.now) return at
  const isTurnedBack = tx.sql(IS_TURNED_BACK).get(tx.now + SCHEDULE_STEP_BACK_MS) !== undefined
  return isTurnedBack ? tx.now : at
}
