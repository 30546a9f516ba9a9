import { ORDINARY, QUARANTINED, WAKEABLE } from '../../store/claimable.ts'
import type { Iid } from '../../store/instances.ts'
import type { TickAnswer, TickRequest } from '../../store/runtimes.ts'
import type { Transaction } from '../file/database.ts'
import { isGone } from '../file/process-place.ts'
import { removeUnstarted } from './unstarted.ts'
import { hasQuarantined, mayTakeQuarantined } from './quarantine.ts'
import { nextWake } from './ranks.ts'
import { parkMail } from './park-mail.ts'
import { removeOldReplies } from './replies.ts'
import { isAlive } from './runtimes.ts'
import { nextScheduleAt } from './schedules.ts'
import { helpedActivities, offeredActivities } from './task-help.ts'
import { freeTasksOf, wantedOf } from './task-owners.ts'
import { stranded } from './task-stranded.ts'
import { nextTaskAt } from './task-lanes.ts'
import { removeUnusedLimits } from './task-limits.ts'
import { removeOldSessions } from './task-sessions.ts'

// Nothing is written where nothing has changed.
const NOTE = `
update runtimes set idle = ?, activities = ?
where runtime = ? and (idle <> ? or activities <> ?)`

/** Marks other runtimes that are gone or silent as dead, and returns what there is to do. */
export function tick(tx: Transaction, request: TickRequest): TickAnswer {
  const { runtime, workflows, tasks, unknown, ownedTasks, idle } = request
  const { now } = tx
  if (!isAlive(tx, runtime)) return { state: 'dead', clock: now }
  const noted = [idle ? 1 : 0, offeredActivities(tasks)] as const
  tx.sql(NOTE).run(...noted, runtime, ...noted)
  reclaimDead(tx, runtime)
  removeOldReplies(tx)
  removeOldSessions(tx)
  removeUnusedLimits(tx)
  const unstarted = removeUnstarted(tx)
  const soon = parkMail(tx)

  return {
    state: 'ok',
    clock: now,
    server: tx.server,
    mail: ownMail(tx, runtime),
    ...outlook(tx, runtime, workflows),
    nextTask: tasks === null ? null : nextTaskAt(tx, tasks),
    nextSchedule: nextScheduleAt(tx),
    stranded: tasks === null ? [] : stranded(tx, workflows, [...tasks.activities, ...unknown]),
    wanted: wantedOf(tx, runtime, ownedTasks),
    helped: tasks === null ? [] : helpedActivities(tx, runtime, tasks.activities),
    // None is late: there is one writer at a time, see `inbox.ts`.
    undelivered: { late: 0, early: unstarted },
    soon,
  }
}

const MAIL = `
select distinct inbox.iid as iid
from inbox join runs on runs.iid = inbox.iid
where inbox.parked = 0 and runs.owner = ?`

/** Instances of a runtime that have messages. */
export function ownMail(tx: Transaction, runtime: number): readonly Iid[] {
  return (tx.sql(MAIL).all(runtime) as { iid: number }[]).map(({ iid }) => iid)
}

// A dead owner may have died of the instance: unlike one that closed, it counts.
const FREE = 'update runs set owner = null, wake_at = ?, attempts = attempts + 1 where owner = ?'

/** Declares others dead whose process is gone or whose lease has ended, and frees what they had. */
export function reclaimDead(tx: Transaction, self: number): void {
  const alive = tx
    .sql(`select runtime, lease_until as leaseUntil, process from runtimes where state = 'alive'`)
    .all() as { runtime: number; leaseUntil: number; process: string }[]
  for (const { runtime, leaseUntil, process } of alive) {
    // Its own lease may have expired without any other runtime noticing.
    if (runtime === self || (leaseUntil > tx.now && !isGone(process))) continue
    tx.sql(`update runtimes set state = 'dead' where runtime = ?`).run(runtime)
    tx.sql(FREE).run(tx.now, runtime)
    freeTasksOf(tx, runtime, true)
  }
}

// A cross join is done in the order written: there are few messages, and may be a million runs.
const UNOWNED_MAIL = `
select 1
from inbox cross join runs as r on r.iid = inbox.iid
where inbox.parked = 0
  and ${WAKEABLE}
  and (${ORDINARY} or ?)
  and r.workflow in (select value from json_each(?))
limit 1`

const QUARANTINED_RUNS = `from runs as r where owner is null and workflow = ? and ${QUARANTINED}`

/** Whether something of these workflows can be claimed now, and when the next one falls due. */
export function outlook(
  tx: Transaction,
  runtime: number,
  workflows: readonly number[],
): { claimable: boolean; nextDue: number | null } {
  const first = nextWake(tx, workflows, -1)
  let isDue = first <= tx.now
  let nextDue = isDue ? nextWake(tx, workflows, tx.now) : first
  const takesQuarantined = mayTakeQuarantined(tx, runtime)
  for (const workflow of hasQuarantined(tx) ? workflows : []) {
    const at = earliest(tx, `${QUARANTINED_RUNS} and wake_at is not null`, workflow)
    if (at > tx.now) nextDue = Math.min(nextDue, at)
    else
      nextDue = Math.min(
        nextDue,
        earliest(tx, `${QUARANTINED_RUNS} and wake_at > ?`, workflow, tx.now),
      )
    if (takesQuarantined && at <= tx.now) isDue = true
  }
  const mail = tx.sql(UNOWNED_MAIL).get(takesQuarantined ? 1 : 0, JSON.stringify(workflows))
  return {
    claimable: isDue || mail !== undefined,
    nextDue: nextDue === Infinity ? null : nextDue,
  }
}

function earliest(tx: Transaction, from: string, ...values: number[]): number {
  const { at } = tx.sql(`select min(wake_at) as at ${from}`).get(...values) as { at: number | null }
  return at ?? Infinity
}
