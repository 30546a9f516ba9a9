import { QUARANTINE_DEATHS } from '../../store/constants.ts'
import type { TaskInterest } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'

// Tasks of one activity and one tag are next to each other in every index. So a claim never reads
// tasks that the runtime does not serve, however many of them wait.

/** What makes a task one that can be handed out now. */
export const READY =
  `held_by is null and visible_at is null and deaths < ${QUARANTINE_DEATHS}` as const
/** The same for quarantined ones: one at a time. */
export const QUARANTINED =
  `held_by is null and visible_at is null and deaths >= ${QUARANTINE_DEATHS}` as const
/** Either of the two. */
export type Waiting = typeof READY | typeof QUARANTINED

/** In `visible_at`: never. It was not started in time. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** The tasks of one activity and one tag, which may be empty. */
export interface Lane {
  readonly activity: string
  readonly tag: string
}

/** Whether a runtime serves a lane. */
export function serves({ activities, served }: TaskInterest, { activity, tag }: Lane): boolean {
  if (!activities.includes(activity)) return false
  if (tag === '') return served.untagged
  return served.tags === 'any' || served.tags.includes(tag)
}

/** All lanes that a runtime serves; with any tag, those with tasks. */
export function servedLanes(tx: Transaction, { activities, served }: TaskInterest): Lane[] {
  const { untagged, tags } = served
  const lanes: Lane[] = []
  for (const activity of new Set(activities)) {
    if (untagged) lanes.push({ activity, tag: '' })
    const named = tags === 'any' ? tagsOf(tx, activity) : new Set(tags.filter((tag) => tag !== ''))
    for (const tag of named) lanes.push({ activity, tag })
  }
  return lanes
}

const NEXT_TAG = `
select min(tag) as tag
from (
  select min(tag) as tag from tasks where activity = ? and tag > ? and ${READY}
  union all
  select min(tag) from tasks where activity = ? and tag > ? and ${QUARANTINED}
  union all
  select min(tag) from tasks where activity = ? and tag > ? and visible_at is not null
  union all
  select min(tag) from tasks where activity = ? and tag > ? and beat_until is not null
)`

// From one tag to the next, over all tasks between them.
function* tagsOf(tx: Transaction, activity: string): Generator<string> {
  const next = (after: string): string | null => {
    const place = [activity, after]
    const row = tx.sql(NEXT_TAG).get(...place, ...place, ...place, ...place)
    return (row as { tag: string | null }).tag
  }
  for (let tag = next(''); tag !== null; tag = next(tag)) yield tag
}

/** What there is in a lane. */
export interface Outlook {
  /** Whether something waits that could be handed out now, as far as time goes. */
  readonly hasReady: boolean
  /** The same for quarantined ones. */
  readonly hasQuarantined: boolean
  /** When the first of the others becomes visible, which may have come; `NEVER` or `null` for none. */
  readonly visibleAt: number | null
  /** When the first owner has been silent for too long, which may have come. */
  readonly silentAt: number | null
}

const OUTLOOK = `
select
  exists (select 1 from tasks where activity = ? and tag = ? and ${READY}) as hasReady,
  exists (select 1 from tasks where activity = ? and tag = ? and ${QUARANTINED}) as hasQuarantined,
  (
    select min(visible_at) from tasks where activity = ? and tag = ? and visible_at is not null
  ) as visibleAt,
  (
    select min(beat_until) from tasks where activity = ? and tag = ? and beat_until is not null
  ) as silentAt`

interface OutlookRow extends Omit<Outlook, 'hasReady' | 'hasQuarantined'> {
  readonly hasReady: number
  readonly hasQuarantined: number
}

/** Reads the first entry of each index of a lane. */
export function outlookOf(tx: Transaction, { activity, tag }: Lane): Outlook {
  const lane = [activity, tag]
  const row = tx.sql(OUTLOOK).get(...lane, ...lane, ...lane, ...lane) as OutlookRow
  return { ...row, hasReady: row.hasReady === 1, hasQuarantined: row.hasQuarantined === 1 }
}

/** When the next task can be claimed, by time alone: now or earlier for now, `null` for none. */
export function nextTaskAt(tx: Transaction, interest: TaskInterest): number | null {
  let next = Infinity
  for (const lane of servedLanes(tx, interest)) {
    const { hasReady, hasQuarantined, visibleAt, silentAt } = outlookOf(tx, lane)
    if (hasReady || hasQuarantined) return tx.now
    next = Math.min(next, visibleAt ?? Infinity, silentAt ?? Infinity)
  }
  return next < NEVER ? next : null
}
