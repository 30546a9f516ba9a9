import { ORDINARY, UNOWNED, WAKEABLE } from '../../store/claimable.ts'
import { QUARANTINE_DEATHS } from '../../store/constants.ts'
import type { Claim, ClaimAnswer, ClaimRequest } from '../../store/claims.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { type Candidate, mayTakeQuarantined, nextQuarantined } from './quarantine.ts'
import { lastTurn } from './history.ts'
import { resolveVersions } from './resolve-versions.ts'
import { isAlive } from './runtimes.ts'

// There is one writer at a time, so what is found free stays free until it is taken: no locks, and
// nothing to skip.

const DUE = `
select iid, workflow, wake_at as since
from runs as r
where workflow = ? and wake_at <= ? and ${ORDINARY}
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

/** Takes what is due or has mail: first what was hinted at, then each workflow in turn. */
export function claim(tx: Transaction, request: ClaimRequest): ClaimAnswer {
  const { runtime, workflows, limit, hinted } = request
  if (!isAlive(tx, runtime))
    return { state: 'dead', clock: tx.now, claims: [], passed: [], nextDue: null }
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
  const passed = resolveVersions(tx, request, [...chosen])
  for (const iid of passed) chosen.delete(iid)
  const claims = [...chosen].map((iid) => take(tx, runtime, iid))
  return { state: 'ok', clock: tx.now, claims, passed, nextDue: nextDue(tx, workflows) }
}

const NEXT = `
select min(wake_at) as at from runs as r where workflow = ? and ${ORDINARY}`

function nextDue(tx: Transaction, workflows: readonly number[]): number | null {
  const moments = workflows.flatMap((workflow) => {
    const { at } = tx.sql(NEXT).get(workflow) as { at: number | null }
    return at ?? []
  })
  return moments.length === 0 ? null : Math.min(...moments)
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
  return workflows
    .map((workflow) => {
      const due = tx.sql(DUE).all(workflow, tx.now, limit) as Candidate[]
      const lane = [...due, ...mail.filter((candidate) => candidate.workflow === workflow)]
      return lane.toSorted((a, b) => a.since - b.since)
    })
    .toSorted((a, b) => (a[0]?.since ?? Infinity) - (b[0]?.since ?? Infinity))
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
where iid = ? and ${UNOWNED}`

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
  // A task of it may wait for code that is known to who runs it: see `stranded`.
  const waits = mail ?? tx.sql('select 1 from tasks where iid = ? and held_by is null').get(iid)
  return waits === undefined ? undefined : run
}

function take(tx: Transaction, runtime: number, iid: Iid): Claim {
  const taken = tx.sql(TAKE).get(runtime, iid) as Pick<Claim, 'epoch' | 'deaths' | 'doing'>
  return { iid, ...taken, ...lastTurn(tx, iid) }
}
