import { UNOWNED } from '../../store/claimable.ts'
import { MAX_STRANDED } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { QUARANTINED, READY } from './task-lanes.ts'

// A runtime is known to have the activities that it was given, and those that its workflows have
// called so far. Its code may still have the activity that a task waits for.
//
// This is not an optimization: without it, tasks of such an activity wait forever once the process
// that called it has ended (`test/tasks/next-process.test.ts`).

// Which tasks can be claimed, each found by its index. Delayed tasks become ready, and tasks are
// taken from an owner without a heartbeat, only by a runtime that is known to have the activity: so
// such tasks are included here.
const DELAYED = 'visible_at is not null'
const SILENT = 'beat_until is not null'

const nextOf = (which: string): string =>
  `select min(activity) as activity from tasks where ${which} and activity > ?`

const NEXT_ACTIVITY = `
select min(activity) as activity
from (${[READY, QUARANTINED, DELAYED, SILENT].map(nextOf).join(' union all ')})`

const iidsOf = (which: string): string => `select iid from tasks where activity = ? and ${which}`

// A cross join is done in the order written: from the few tasks to the runs.
const WAITS_UNOWNED = `
select distinct waiting.iid as iid
from (
  ${[READY, QUARANTINED, `${DELAYED} and visible_at <= ?`, `${SILENT} and beat_until <= ?`]
    .map(iidsOf)
    .join(' union all ')}
) as waiting
cross join runs as r on r.iid = waiting.iid
where ${UNOWNED}
  and r.workflow in (select value from json_each(?))
limit ${MAX_STRANDED}`

/** Unowned instances of these workflows that wait for activities other than those named; a few. */
export function stranded(
  tx: Transaction,
  workflows: readonly number[],
  named: readonly string[],
): readonly Iid[] {
  const known = new Set(named)
  const found: Iid[] = []
  let activity: string | null = ''
  while (found.length < MAX_STRANDED) {
    const after: string = activity
    const next = tx.sql(NEXT_ACTIVITY).get(after, after, after, after) as {
      activity: string | null
    }
    activity = next.activity
    if (activity === null) break
    if (known.has(activity)) continue
    const ours = JSON.stringify(workflows)
    const given = [activity, activity, activity, tx.now, activity, tx.now, ours]
    const rows = tx.sql(WAITS_UNOWNED).all(...given) as { iid: Iid }[]
    for (const { iid } of rows) found.push(iid)
  }
  return found
}
