import type { TaskInterest } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'

// A runtime with more than it can do turns it into tasks when another one reports that it has
// nothing to do. What is handed over has no tag, so only runtimes that serve such tasks count.

/** What a runtime can run for others, from its row. */
export function offeredActivities(tasks: TaskInterest | null): string {
  return JSON.stringify(tasks?.served.untagged ? tasks.activities : [])
}

const IDLE = `
select activities from runtimes
where state = 'alive' and lease_until > ? and idle = 1 and runtime <> ?`

/** Of these activities, those that another live runtime could run, which is idle. */
export function helpedActivities(
  tx: Transaction,
  runtime: number,
  activities: readonly string[],
): readonly string[] {
  const idle = tx.sql(IDLE).all(tx.now, runtime) as { activities: string }[]
  const offered = new Set(idle.flatMap((row) => JSON.parse(row.activities) as string[]))
  return activities.filter((activity) => offered.has(activity))
}
