import { ADMITTED, ORDINARY, RANK, UNOWNED, WAKEABLE } from '../../store/claimable.ts'
import { QUARANTINE_DEATHS } from '../../store/constants.ts'
import type { Claim, ClaimAnswer, ClaimRequest } from '../../store/claims.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { admitDue, lineUpLate } from './admissions.ts'
import { type Candidate, mayTakeQuarantined, nextQuarantined } from './quarantine.ts'
import { lastTurn } from './history.ts'
import { hasUnadmitted, nextWake, ranksOf } from './ranks.ts'
import { resolveVersions } from './resolve-versions.ts'
import { isAlive } from './runtimes.ts'

// There is one writer at a time, so what is found free stays free until it is taken: no locks, and
// nothing to skip.

const DUE = `
select iid, workflow, wake_at as since, ${RANK} as rank
from runs as r
where workflow = ? and ${RANK} = ? and wake_at <= ? and ${ORDINARY}
order by wake_at
limit ?`

// A cross join is done in the order written: there are few messages to look at, and may be a million
// runs.
const MAIL = `
select inbox.iid as iid, r.workflow as workflow, min(inbox.at) as since
from inbox cross join runs as r on r.iid = inbox.iid
where inbox.parked = 0
  and ${WAKEABLE}
  and ${ORDINARY}
  and r.workflow in (select value from json_each(?))
group by inbox.iid
order by since
limit ?`

const TAKE = `
update runs set owner = ?, epoch = epoch + 1, wake_at = null
where iid = ?
returning epoch, attempts as deaths, doing`

/** Claims what is due or has mail: first what hints name, then each workflow in turn. */
export function claim(tx: Transaction, request: ClaimRequest): ClaimAnswer {
  const { runtime, workflows, limit, hinted } = request
  if (!isAlive(tx, runtime))
    return { state: 'dead', clock: tx.now, claims: [], passed: [], nextDue: null }
  const judged = hasUnadmitted(tx) ? admitDue(tx, workflows, hinted) : {}
  const chosen = new Set<Iid>()
  let takesQuarantined = mayTakeQuarantined(tx, runtime)
  for (const iid of hinted) {
    const found = chosen.size < limit ? claimable(tx, iid, workflows) : undefined
    if (found === undefined || chosen.has(iid)) continue
    if (found.deaths >= QUARANTINE_DEATHS && !takesQuarantined) continue
    if (found.deaths >= QUARANTINE_DEATHS) takesQuarantined = false
    chosen.add(iid)
  }
  if (chosen.size < limit) {
    const lanes = waiting(tx, workflows, limit, takesQuarantined)
    for (let place = 0; lanes.some((lane) => place < lane.length); place++) {
      for (const lane of lanes) {
        const next = lane[place]
        if (next !== undefined && chosen.size < limit) chosen.add(next.iid)
      }
    }
  }
  const late = lineUpLate(tx, [...chosen])
  for (const iid of late) chosen.delete(iid)
  const passed = resolveVersions(tx, request, [...chosen])
  for (const iid of passed) chosen.delete(iid)
  const claims = [...chosen].map((iid) => take(tx, runtime, iid))
  const next = nextWake(tx, workflows, -1)
  return {
    state: 'ok',
    clock: tx.now,
    claims,
    passed,
    nextDue: next === Infinity ? null : next,
    ...judged,
    ...(late.length > 0 && { hasMore: true }),
  }
}

/** For each workflow what waits for an owner, the longest first. */
function waiting(
  tx: Transaction,
  workflows: readonly number[],
  limit: number,
  takesQuarantined: boolean,
): Candidate[][] {
  const mail = tx.sql(MAIL).all(JSON.stringify(workflows), limit) as Candidate[]
  const one = takesQuarantined ? nextQuarantined(tx, workflows) : undefined
  if (one !== undefined) mail.push(one)
  const ranks = ranksOf(tx, workflows)
  return workflows
    .map((workflow, i) => {
      const due: Candidate[] = []
      for (const rank of ranks[i]!) {
        if (due.length >= limit) break
        due.push(...(tx.sql(DUE).all(workflow, rank, tx.now, limit) as Candidate[]))
      }
      const lane = [...due, ...mail.filter((candidate) => candidate.workflow === workflow)]
      return lane.toSorted(byRank)
    })
    .toSorted((a, b) => oldest(a) - oldest(b))
}

/** Higher priorities first, and in each what has waited longest. */
function byRank(a: Candidate, b: Candidate): number {
  return (b.rank ?? 0) - (a.rank ?? 0) || a.since - b.since
}

function oldest(lane: readonly Candidate[]): number {
  return lane.reduce((since, candidate) => Math.min(since, candidate.since), Infinity)
}

interface UnownedRun {
  readonly workflow: number
  readonly deaths: number
  readonly isDue: number
  readonly isWakeable: number
}

const UNOWNED_RUN = `
select workflow, attempts as deaths, coalesce(wake_at <= ?, 0) as isDue, ${WAKEABLE} as isWakeable
from runs as r
where iid = ? and ${UNOWNED} and ${ADMITTED}`

function claimable(
  tx: Transaction,
  iid: Iid,
  workflows: readonly number[],
): UnownedRun | undefined {
  const run = tx.sql(UNOWNED_RUN).get(tx.now, iid) as UnownedRun | undefined
  if (run === undefined || !workflows.includes(run.workflow)) return undefined
  if (run.isDue === 1) return run
  if (run.isWakeable === 0) return undefined
  const mail = tx.sql('select 1 from inbox where iid = ? and parked = 0 limit 1').get(iid)
  // One of its tasks may wait for code that the claiming runtime has: see `stranded`.
  const waits = mail ?? tx.sql('select 1 from tasks where iid = ? and held_by is null').get(iid)
  return waits === undefined ? undefined : run
}

function take(tx: Transaction, runtime: number, iid: Iid): Claim {
  const taken = tx.sql(TAKE).get(runtime, iid) as Pick<Claim, 'epoch' | 'deaths' | 'doing'>
  return { iid, ...taken, ...lastTurn(tx, iid) }
}
