import { NO_VERSION, type WorkflowName } from '../../store/instances.ts'
import type { LeaseAnswer, Registered, RegisterRequest } from '../../store/runtimes.ts'
import type { Transaction } from '../file/database.ts'
import { ownProcess } from '../file/process-place.ts'
import { setLimit } from './limits.ts'
import { freeTasksOf } from './task-owners.ts'

/** Whether this runtime may do anything: one that is dead, closed or unknown may not. */
export function isAlive(tx: Transaction, runtime: number): boolean {
  const sql = `select 1 from runtimes where runtime = ? and state = 'alive'`
  return tx.sql(sql).get(runtime) !== undefined
}

/** Whether this runtime was stopped on purpose. */
export function isClosed(tx: Transaction, runtime: number): boolean {
  const sql = `select 1 from runtimes where runtime = ? and state = 'closed'`
  return tx.sql(sql).get(runtime) !== undefined
}

const REGISTER = `
insert into runtimes (state, lease_until, process, info, registered_at)
values ('alive', ?, ?, ?, ?)
returning runtime`

const SERVES = 'update runtimes set workflows = ?, serves = ? where runtime = ?'

// What has ended so far was not noted while there was no retention: see `note-earlier.ts`.
const RETAIN = `
update workflows
set retention_ms = ?,
  noted_at = iif(retention_ms is null, -1, noted_at),
  noted_iid = iif(retention_ms is null, 0, noted_iid)
where workflow = ? and retention_ms is not ?`

const KEEP = `
update workflows set retention_ms = null, noted_at = null, noted_iid = null
where workflow = ? and retention_ms is not null`

// A runtime without a row counts as dead, so the rows of old dead ones can be removed. By number:
// earlier ones have been removed already.
const FORGET = `delete from runtimes where runtime < ? and state <> 'alive'`
const REMEMBERED = 100

/** Registers a new runtime, under a number of its own. */
export function register(tx: Transaction, registration: RegisterRequest): Registered {
  const { runtime } = tx
    .sql(REGISTER)
    .get(tx.now + registration.leaseMs, ownProcess(), registration.info, tx.now) as {
    runtime: number
  }
  tx.sql(FORGET).run(runtime - REMEMBERED)
  const workflows = workflowNumbers(tx, registration.workflows)
  const { serves } = registration
  const servesJson = serves === undefined ? null : JSON.stringify(serves)
  tx.sql(SERVES).run(JSON.stringify(workflows), servesJson, runtime)
  for (const [i, workflow] of registration.workflows.entries()) {
    const { retentionMs = null } = workflow
    if (retentionMs === null) tx.sql(KEEP).run(workflows[i]!)
    else tx.sql(RETAIN).run(retentionMs, workflows[i]!, retentionMs)
    setLimit(tx, workflow, workflows[i]!)
  }
  return { runtime, server: tx.server, clock: tx.now, workflows }
}

const RENEW = `update runtimes set lease_until = ? where runtime = ? and state = 'alive'`

/** Makes a lease end `leaseMs` from now. */
export function renewLease(tx: Transaction, runtime: number, leaseMs: number): LeaseAnswer {
  const changed = tx.sql(RENEW).run(tx.now + leaseMs, runtime)
  return { state: changed > 0 ? 'ok' : 'dead', clock: tx.now }
}

const LEASE_END = `
select min(lease_until) as at from runtimes
where state = 'alive' and lease_until > ? and runtime <> ?`

/** When the first lease of another live runtime ends, unless it is renewed. */
export function firstLeaseEnd(tx: Transaction, self: number): number | null {
  return (tx.sql(LEASE_END).get(tx.now, self) as { at: number | null }).at
}

/** Ends a runtime. What it owned is due at once, for any runtime. */
export function unregister(tx: Transaction, runtime: number): void {
  tx.sql(`update runtimes set state = 'closed' where runtime = ? and state = 'alive'`).run(runtime)
  tx.sql('update runs set owner = null, wake_at = ? where owner = ?').run(tx.now, runtime)
  freeTasksOf(tx, runtime, false)
}

const NUMBER = 'select workflow from workflows where name = ? and version = ?'

const ADD = 'insert into workflows (name, version) values (?, ?) on conflict do nothing'

/**
 * The numbers of workflows. Unknown ones get one, and each name gets a row without a version: for limits
 * and lists.
 */
export function workflowNumbers(
  tx: Transaction,
  workflows: readonly WorkflowName[],
): readonly number[] {
  for (const { name, version } of workflows) tx.sql(ADD).run(name, version)
  for (const { name } of workflows) tx.sql(ADD).run(name, NO_VERSION)
  return workflows.map(
    ({ name, version }) => (tx.sql(NUMBER).get(name, version) as { workflow: number }).workflow,
  )
}

/** Numbers for new instances. They are never given out again, even if they are not used. */
export function reserve(tx: Transaction, count: number): number {
  const row = tx
    .sql('update store set next_iid = next_iid + ? returning next_iid - ? as first')
    .get(count, count) as { first: number }
  return row.first
}
