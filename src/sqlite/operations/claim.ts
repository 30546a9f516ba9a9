import type { Claim, ClaimAnswer, ClaimRequest, Iid } from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'
import { lastTurn } from './history.ts'
import { isAlive } from './runtimes.ts'

// There is one writer at a time, so what is found free stays free until it is taken: no locks, and
// nothing to skip.

interface Candidate {
  readonly iid: Iid
  readonly workflow: number
  /** Since when it has been waiting for an owner. */
  readonly since: number
}

const DUE = `
select iid, workflow, wake_at as since
from runs
where workflow = ? and wake_at <= ?
order by wake_at
limit ?`

// A cross join is done in the order written: there are few messages to look at, and may be a million
// runs. What was never run waits for its time, whatever is sent to it meanwhile.
const MAIL = `
select inbox.iid as iid, runs.workflow as workflow, min(inbox.at) as since
from inbox cross join runs on runs.iid = inbox.iid
where inbox.parked = 0
  and runs.owner is null
  and runs.held = 0
  and (runs.epoch > 0 or runs.wake_at is null)
  and runs.workflow in (select value from json_each(?))
group by inbox.iid
order by since
limit ?`

const TAKE = `
update runs set owner = ?, epoch = epoch + 1, wake_at = null
where iid = ?
returning epoch, attempts`

/** Takes what is due or has mail: first what was hinted at, then each workflow in turn. */
export function claim(tx: Transaction, request: ClaimRequest): ClaimAnswer {
  const { runtime, workflows, limit, hinted } = request
  if (!isAlive(tx, runtime)) return { state: 'dead', clock: tx.now, claims: [] }
  const told = [...new Set(hinted)].filter((iid) => isClaimable(tx, iid, workflows))
  const chosen = new Set(told.slice(0, limit))
  if (chosen.size < limit) {
    const lanes = waiting(tx, workflows, limit)
    for (let place = 0; lanes.some((lane) => place < lane.length); place++) {
      for (const lane of lanes) {
        const next = lane[place]
        if (next !== undefined && chosen.size < limit) chosen.add(next.iid)
      }
    }
  }
  return { state: 'ok', clock: tx.now, claims: [...chosen].map((iid) => take(tx, runtime, iid)) }
}

/** For each workflow what waits for an owner, the longest first. */
function waiting(tx: Transaction, workflows: readonly number[], limit: number): Candidate[][] {
  const mail = tx.sql(MAIL).all(JSON.stringify(workflows), limit) as Candidate[]
  return workflows
    .map((workflow) => {
      const due = tx.sql(DUE).all(workflow, tx.now, limit) as Candidate[]
      const lane = [...due, ...mail.filter((candidate) => candidate.workflow === workflow)]
      return lane.toSorted((a, b) => a.since - b.since)
    })
    .toSorted((a, b) => (a[0]?.since ?? Infinity) - (b[0]?.since ?? Infinity))
}

function isClaimable(tx: Transaction, iid: Iid, workflows: readonly number[]): boolean {
  const run = tx
    .sql('select workflow, epoch, wake_at from runs where iid = ? and owner is null and held = 0')
    .get(iid) as { workflow: number; epoch: number; wake_at: number | null } | undefined
  if (run === undefined || !workflows.includes(run.workflow)) return false
  if (run.wake_at !== null && run.wake_at <= tx.now) return true
  if (run.epoch === 0 && run.wake_at !== null) return false
  return tx.sql('select 1 from inbox where iid = ? and parked = 0 limit 1').get(iid) !== undefined
}

function take(tx: Transaction, runtime: number, iid: Iid): Claim {
  const { epoch, attempts } = tx.sql(TAKE).get(runtime, iid) as { epoch: number; attempts: number }
  return { iid, epoch, attempts, ...lastTurn(tx, iid) }
}
