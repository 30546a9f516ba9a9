import type {
  Registered,
  Registration,
  TickAnswer,
  TickRequest,
  WorkflowName,
} from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'
import { isGone, ownProcess } from '../process-place.ts'
import { removeOldReplies } from './replies.ts'

/** Whether this runtime may do anything: one that is dead, closed or unknown may not. */
export function isAlive(tx: Transaction, runtime: number): boolean {
  const sql = `select 1 from runtimes where runtime = ? and state = 'alive'`
  return tx.sql(sql).get(runtime) !== undefined
}

const REGISTER = `
insert into runtimes (state, lease_until, process, info)
values ('alive', ?, ?, ?)
returning runtime`

/** Takes in a new runtime, under a number of its own. */
export function register(tx: Transaction, registration: Registration): Registered {
  const { runtime } = tx
    .sql(REGISTER)
    .get(tx.now + registration.leaseMs, ownProcess(), registration.info) as { runtime: number }
  const workflows = workflowNumbers(tx, registration.workflows)
  return { runtime, server: tx.server, clock: tx.now, workflows }
}

/** Ends a runtime. What it had is due at once, for anybody. */
export function unregister(tx: Transaction, runtime: number): void {
  tx.sql(`update runtimes set state = 'closed' where runtime = ? and state = 'alive'`).run(runtime)
  tx.sql('update runs set owner = null, wake_at = ? where owner = ?').run(tx.now, runtime)
}

/** The numbers of workflows; unknown ones get one. */
export function workflowNumbers(
  tx: Transaction,
  workflows: readonly WorkflowName[],
): readonly number[] {
  return workflows.map(({ name, version }) => {
    tx.sql('insert into workflows (name, version) values (?, ?) on conflict do nothing').run(
      name,
      version,
    )
    const row = tx
      .sql('select workflow from workflows where name = ? and version = ?')
      .get(name, version) as { workflow: number }
    return row.workflow
  })
}

/** Numbers for new instances that nobody else gets, also when they are never used. */
export function reserve(tx: Transaction, count: number): number {
  const row = tx
    .sql('update store set next_iid = next_iid + ? returning next_iid - ? as first')
    .get(count, count) as { first: number }
  return row.first
}

// A dead owner may have died of the instance: unlike one that closed, it counts.
const FREE = 'update runs set owner = null, wake_at = ?, attempts = attempts + 1 where owner = ?'

const MAIL = `
select distinct inbox.iid as iid
from inbox join runs on runs.iid = inbox.iid
where inbox.parked = 0 and runs.owner = ?`

// A cross join is done in the order written: there are few messages, and may be a million runs.
const UNOWNED_MAIL = `
select 1
from inbox cross join runs on runs.iid = inbox.iid
where inbox.parked = 0
  and runs.owner is null
  and runs.held = 0
  and (runs.epoch > 0 or runs.wake_at is null)
  and runs.workflow in (select value from json_each(?))
limit 1`

const DUE = 'select min(wake_at) as at from runs where workflow = ? and wake_at is not null'
const NEXT_DUE = 'select min(wake_at) as at from runs where workflow = ? and wake_at > ?'

/** Renews a lease, declares dead who is gone or silent, and says what there is to do. */
export function tick(tx: Transaction, request: TickRequest): TickAnswer {
  const { runtime, leaseMs, workflows } = request
  const { now } = tx
  if (!isAlive(tx, runtime)) return { state: 'dead', clock: now }
  // Own lease first: one that ended and that nobody noticed is simply renewed.
  tx.sql('update runtimes set lease_until = ? where runtime = ?').run(now + leaseMs, runtime)
  buryOthers(tx)
  removeOldReplies(tx)

  const mail = tx.sql(MAIL).all(runtime) as { iid: number }[]
  const { owned } = tx.sql('select count(*) as owned from runs where owner = ?').get(runtime) as {
    owned: number
  }
  const isDue = workflows.some((workflow) => (earliest(tx, DUE, workflow) ?? Infinity) <= now)
  const nextDue = workflows
    .map((workflow) => earliest(tx, NEXT_DUE, workflow, now))
    .reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)
  return {
    state: 'ok',
    clock: now,
    server: tx.server,
    mail: mail.map(({ iid }) => iid),
    owned,
    claimable: isDue || tx.sql(UNOWNED_MAIL).get(JSON.stringify(workflows)) !== undefined,
    nextDue,
  }
}

function buryOthers(tx: Transaction): void {
  const alive = tx
    .sql(`select runtime, lease_until as leaseUntil, process from runtimes where state = 'alive'`)
    .all() as { runtime: number; leaseUntil: number; process: string }[]
  for (const { runtime, leaseUntil, process } of alive) {
    if (leaseUntil > tx.now && !isGone(process)) continue
    tx.sql(`update runtimes set state = 'dead' where runtime = ?`).run(runtime)
    tx.sql(FREE).run(tx.now, runtime)
  }
}

function earliest(
  tx: Transaction,
  sql: typeof DUE | typeof NEXT_DUE,
  ...values: number[]
): number | null {
  return (tx.sql(sql).get(...values) as { at: number | null }).at
}
