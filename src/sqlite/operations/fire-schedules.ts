import type { StartItem, Verdict } from '../../store/commits.ts'
import {
  MAX_SCHEDULE_RUNNING,
  SCHEDULE_LOCKED_MS,
  SCHEDULE_RECHECK_MS,
} from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Firing, FiringVerdict } from '../../store/schedules.ts'
import type { Transaction } from '../file/database.ts'
import { unfinished } from './schedules.ts'
import { allLimits } from './limits.ts'
import { startInstance } from './starts.ts'

const LOCK = `
select running from schedules
where name = ? and revision = ? and next_at = ? and wake_at is not null`

/** Deals with due times, each by itself. */
export function fireSchedules(
  tx: Transaction,
  firings: readonly Firing[],
): readonly FiringVerdict[] {
  return firings.map((firing) => fire(tx, firing))
}

const ADVANCE = `
update schedules
set next_at = ?, wake_at = ?, set_at = ?, running = ?, missed = missed + ?,
  missed_at = coalesce(?, missed_at), skipped = skipped + ?, skipped_at = coalesce(?, skipped_at),
  error = null, error_at = null
where name = ?`

const STARTED =
  'update schedules set last_at = ?, last_id = ?, started = started + 1 where name = ?'

const WAIT = `
update schedules
set next_at = ?, wake_at = ?, set_at = ?, running = ?, missed = missed + ?,
  missed_at = coalesce(?, missed_at)
where name = ?`

function fire(tx: Transaction, firing: Firing): FiringVerdict {
  const { name, revision, due, at, setAt, start, missed, overlap } = firing
  const schedule = tx.sql(LOCK).get(name, revision, due) as { running: string } | undefined
  if (schedule === undefined) return 'refused'
  const running = unfinished(tx, schedule.running).map(({ iid }) => iid)
  const { now } = tx
  const missedAt = missed > 0 ? now : null
  const advance = (nextAt: number, iids: readonly Iid[], skipped = 0): void => {
    const next = [nextAt, nextAt, setAt, JSON.stringify(iids)]
    tx.sql(ADVANCE).run(...next, missed, missedAt, skipped, skipped > 0 ? now : null, name)
  }
  if (at === null || start === null) {
    advance(firing.nextAt, running)
    return 'missed'
  }
  if (running.length > 0 && overlap === 'skip') {
    advance(firing.nextAfterPassed, running, firing.passed)
    return 'skipped'
  }
  if (running.length > 0 && overlap === 'queue') {
    const next = [at, now + SCHEDULE_RECHECK_MS, setAt, JSON.stringify(running)]
    tx.sql(WAIT).run(...next, missed, missedAt, name)
    return 'waiting'
  }
  const verdict = startInstance(tx, started(tx, start), null, allLimits(tx))
  switch (verdict) {
    case 'done':
      advance(firing.nextAt, latest([...running, start.iid]))
      tx.sql(STARTED).run(at, start.id, name)
      return 'started'
    case 'exists':
      advance(firing.nextAt, running, 1)
      return 'exists'
    case 'refused':
      return 'renumber'
    case 'unstarted':
      return 'unstarted'
    case 'locked':
    case 'untried':
      // Not in SQLite, which has one writer at a time.
      tx.sql('update schedules set wake_at = ? where name = ?').run(now + SCHEDULE_LOCKED_MS, name)
      return 'locked'
  }
}

/** Starts an instance now, whatever the due times. */
export function triggerSchedule(
  tx: Transaction,
  { name, revision }: Pick<Firing, 'name' | 'revision'>,
  start: StartItem,
): Verdict {
  const schedule = tx
    .sql('select running from schedules where name = ? and revision = ?')
    .get(name, revision) as { running: string } | undefined
  if (schedule === undefined) return 'refused'
  const verdict = startInstance(tx, started(tx, start), null, allLimits(tx))
  const running = unfinished(tx, schedule.running).map(({ iid }) => iid)
  // Sent again, it may have been done before.
  if (verdict !== 'done' || running.includes(start.iid)) return verdict
  const iids = JSON.stringify(latest([...running, start.iid]))
  tx.sql('update schedules set running = ? where name = ?').run(iids, name)
  tx.sql(STARTED).run(tx.now, start.id, name)
  return verdict
}

function started(tx: Transaction, item: StartItem): StartItem {
  return { ...item, turn: { ...item.turn, at: tx.now } }
}

function latest(iids: readonly Iid[]): readonly Iid[] {
  return iids.slice(-MAX_SCHEDULE_RUNNING)
}
