import { ORDINARY, RANK, UNADMITTED } from '../../store/claimable.ts'
import type { Transaction } from '../file/database.ts'

// What is due is in order of workflow, priority and time. Most files have no priority but 0.

const HAS_RANKS = 'select 1 from runs where priority is not null limit 1'

const NEXT_RANK = `
select ${RANK} as rank
from runs as r
where workflow = ? and ${RANK} < ? and wake_at is not null and ${ORDINARY}
order by ${RANK} desc
limit 1`

const ONLY_ZERO: readonly number[] = [0]

/** For each workflow the priorities of what is or will be due, the highest first. */
export function ranksOf(
  tx: Transaction,
  workflows: readonly number[],
): readonly (readonly number[])[] {
  if (tx.sql(HAS_RANKS).get() === undefined) return workflows.map(() => ONLY_ZERO)
  return workflows.map((workflow) => {
    const ranks: number[] = []
    for (let below = Number.MAX_SAFE_INTEGER; ;) {
      const row = tx.sql(NEXT_RANK).get(workflow, below) as { rank: number } | undefined
      if (row === undefined) return ranks
      ranks.push(row.rank)
      below = row.rank
    }
  })
}

const NEXT = `
select min(wake_at) as at
from runs as r
where workflow = ? and ${RANK} = ? and wake_at > ? and ${ORDINARY}`

const HAS_UNADMITTED = `
select 1 from runs as r where wake_at is not null and ${UNADMITTED} limit 1`

/** Whether the limit of a workflow has to be judged, now or at a time. */
export function hasUnadmitted(tx: Transaction): boolean {
  return tx.sql(HAS_UNADMITTED).get() !== undefined
}

const NEXT_JUDGED = `
select min(wake_at) as at from runs as r where workflow = ? and wake_at > ? and ${UNADMITTED}`

/**
 * When the next instance of these workflows is due, or has its limit judged, after a moment; `Infinity`
 * for never.
 */
export function nextWake(tx: Transaction, workflows: readonly number[], after: number): number {
  const earliest = (sql: string, ...values: number[]): number =>
    (tx.sql(sql).get(...values) as { at: number | null }).at ?? Infinity
  let next = Infinity
  const ranks = ranksOf(tx, workflows)
  for (const [i, workflow] of workflows.entries()) {
    for (const rank of ranks[i]!) next = Math.min(next, earliest(NEXT, workflow, rank, after))
  }
  if (!hasUnadmitted(tx)) return next
  for (const workflow of workflows) next = Math.min(next, earliest(NEXT_JUDGED, workflow, after))
  return next
}
