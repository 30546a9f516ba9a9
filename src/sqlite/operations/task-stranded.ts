import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../database.ts'

// A runtime knows the activities that it was given, and those that its workflows have called so far.
// What waits for any other may be in its code all the same.

const MOST = 16

const NEXT_ACTIVITY = `
select min(activity) as activity
from tasks
where held_by is null and visible_at is null and deaths < 2 and activity > ?`

// A cross join is done in the order written: from the few tasks to the runs.
const UNOWNED = `
select distinct tasks.iid as iid
from tasks cross join runs on runs.iid = tasks.iid
where tasks.activity = ?
  and tasks.held_by is null
  and tasks.visible_at is null
  and tasks.deaths < 2
  and runs.owner is null
  and runs.held = 0
  and runs.workflow in (select value from json_each(?))
limit ${MOST}`

/** Unowned instances of these workflows that wait for activities other than those named; a few. */
export function stranded(
  tx: Transaction,
  workflows: readonly number[],
  named: readonly string[],
): readonly Iid[] {
  const known = new Set(named)
  const found: Iid[] = []
  let activity: string | null = ''
  while (found.length < MOST) {
    const next = tx.sql(NEXT_ACTIVITY).get(activity) as { activity: string | null }
    activity = next.activity
    if (activity === null) break
    if (known.has(activity)) continue
    const rows = tx.sql(UNOWNED).all(activity, JSON.stringify(workflows)) as { iid: Iid }[]
    for (const { iid } of rows) found.push(iid)
  }
  return found
}
