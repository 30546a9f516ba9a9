import type { WorkflowName } from '../../store/instances.ts'
import type { LeaseAnswer, Registered, RegisterRequest } from '../../store/runtimes.ts'
import type { Transaction } from '../file/database.ts'
import { ownProcess } from '../file/process-place.ts'
import { freeTasksOf } from './task-owners.ts'

/** Whether this runtime may do anything: one that is dead, closed or unknown may not. */
export function isAlive(tx: Transaction, runtime: number): boolean {
  const sql = `select 1 from runtimes where runtime = ? and state = 'alive'`
  return tx.sql(sql).get(runtime) !== undefined
}

const REGISTER = `
insert into runtimes (state, lease_until, process, info)
values ('alive', ?, ?, ?)
returning runtime`

const SERVES = 'update runtimes set workflows = ?, serves = ? where runtime = ?'

const RETAIN = 'update workflows set retention_ms = ? where workflow = ? and retention_ms is not ?'

// A runtime without a row counts as dead, so the rows of old dead ones can go. By number: those before
// have been removed already.
const FORGET = `delete from runtimes where runtime < ? and state <> 'alive'`
const REMEMBERED = 100

/** Takes in a new runtime, under a number of its own. */
export function register(tx: Transaction, registration: RegisterRequest): Registered {
  const { runtime } = tx
    .sql(REGISTER)
    .get(tx.now + registration.leaseMs, ownProcess(), registration.info) as { runtime: number }
  tx.sql(FORGET).run(runtime - REMEMBERED)
  const workflows = workflowNumbers(tx, registration.workflows)
  const { serves } = registration
  const told = serves === undefined ? null : JSON.stringify(serves)
  tx.sql(SERVES).run(JSON.stringify(workflows), told, runtime)
  for (const [i, { retentionMs = null }] of registration.workflows.entries()) {
    tx.sql(RETAIN).run(retentionMs, workflows[i]!, retentionMs)
  }
  return { runtime, server: tx.server, clock: tx.now, workflows }
}

const RENEW = `update runtimes set lease_until = ? where runtime = ? and state = 'alive'`

/** Makes a lease end `leaseMs` from now. */
export function renewLease(tx: Transaction, runtime: number, leaseMs: number): LeaseAnswer {
  const changed = tx.sql(RENEW).run(tx.now + leaseMs, runtime)
  return { state: changed > 0 ? 'ok' : 'dead', clock: tx.now }
}

/** Ends a runtime. What it had is due at once, for anybody. */
export function unregister(tx: Transaction, runtime: number): void {
  tx.sql(`update runtimes set state = 'closed' where runtime = ? and state = 'alive'`).run(runtime)
  tx.sql('update runs set owner = null, wake_at = ? where owner = ?').run(tx.now, runtime)
  freeTasksOf(tx, runtime, false)
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
