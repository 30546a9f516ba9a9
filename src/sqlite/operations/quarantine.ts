import { QUARANTINED, WAKEABLE } from '../../store/claimable.ts'
import { QUARANTINE_DEATHS } from '../../store/constants.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

// An instance that two owners died with may have killed them. It is handed out alone, so that the
// next death shows whether it did.

/** An instance that waits for an owner. */
export interface Candidate {
  readonly iid: Iid
  readonly workflow: number
  /** Since when it has been waiting for an owner. */
  readonly since: number
  /** Its priority; 0 if it is left out. */
  readonly rank?: number
}

const OWNS = `select 1 from runs as r where owner = ? and ${QUARANTINED} limit 1`

/** Whether a runtime owns one of these that got no further yet. */
export function ownsQuarantined(tx: Transaction, runtime: number): boolean {
  return tx.sql(OWNS).get(runtime) !== undefined
}

// Without `indexed by`, SQLite would look at all that the runtime owns.
const OWNS_TASK = `
select 1
from tasks indexed by tasks_careful
where held_by = ? and visible_at is null and deaths >= ${QUARANTINE_DEATHS}
limit 1`

/** Whether a runtime may take one more of these: it has no other, and no task that runtimes died with. */
export function mayTakeQuarantined(tx: Transaction, runtime: number): boolean {
  return !ownsQuarantined(tx, runtime) && tx.sql(OWNS_TASK).get(runtime) === undefined
}

/** Whether there is one without an owner, due or not. */
export function hasQuarantined(tx: Transaction): boolean {
  const sql = `select 1 from runs as r where owner is null and ${QUARANTINED} limit 1`
  return tx.sql(sql).get() !== undefined
}

const DUE = `
select iid, workflow, wake_at as since
from runs as r
where owner is null and workflow = ? and wake_at <= ? and ${QUARANTINED}
order by wake_at
limit 1`

const MAIL = `
select inbox.iid as iid, r.workflow as workflow, min(inbox.at) as since
from inbox cross join runs as r on r.iid = inbox.iid
where inbox.parked = 0
  and ${WAKEABLE}
  and ${QUARANTINED}
  and r.workflow in (select value from json_each(?))
group by inbox.iid
order by since
limit 1`

/** The one that has waited longest, due or with mail. */
export function nextQuarantined(
  tx: Transaction,
  workflows: readonly number[],
): Candidate | undefined {
  if (!hasQuarantined(tx)) return undefined
  const due = workflows.map((workflow) => tx.sql(DUE).get(workflow, tx.now))
  const found = [...due, tx.sql(MAIL).get(JSON.stringify(workflows))] as (Candidate | undefined)[]
  return found
    .filter((candidate) => candidate !== undefined)
    .reduce<Candidate | undefined>(
      (first, next) => (first === undefined || next.since < first.since ? next : first),
      undefined,
    )
}

const NOTE = 'update runs set doing = ? where iid = ? and owner = ? and epoch = ? and held = 0'

/** Records what the owner is about to do, in case it dies of it; false when it is not the owner. */
export function aboutTo(
  tx: Transaction,
  runtime: number,
  iid: Iid,
  epoch: number,
  doing: string,
): boolean {
  return tx.sql(NOTE).run(doing, iid, runtime, epoch) > 0
}
