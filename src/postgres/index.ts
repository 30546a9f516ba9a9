// The public entry `holdfast/postgres`.
import type { ActivityOptions } from '../engine/define/activity-options.ts'
import type { Limit } from '../engine/define/limit.ts'
import type { Activity } from '../engine/define/definitions.ts'
import type { Schema } from '../base/schema.ts'
import { defineTransaction, type TransactionContext } from '../engine/define/transactions.ts'
import type { Queryable } from './transactions/transact-queries.ts'

/**
 * Defines an activity whose own SQL and whose result are committed together: what it writes through
 * `ctx.tx` happens exactly once. Its tables are in the database of the store.
 *
 * It is committed when the code returns, and rolled back when it throws; then it is retried like
 * any activity. An error of a statement ends the transaction, unless it comes after a savepoint.
 */
export function transaction<In, Out>(
  name: string,
  run: (input: In, ctx: TransactionContext<Queryable>) => Promise<Out>,
): Activity<In, Out>
export function transaction<Out, Parsed, In = Parsed>(
  name: string,
  options: ActivityOptions & { input?: Schema<In, Parsed>; limit?: Limit<NoInfer<Parsed>> },
  run: (input: Parsed, ctx: TransactionContext<Queryable>) => Promise<Out>,
): Activity<In, Out>
export function transaction(name: string, ...rest: unknown[]): unknown {
  return defineTransaction('postgres', name, rest)
}

export type { Metrics } from '../base/metrics.ts'
export type { TransactionContext } from '../engine/define/transactions.ts'
export type { SchemaStatus } from '../store/schema-status.ts'
export type { Store } from '../store/store.ts'
export { doctor, type DoctorOptions } from './doctor/doctor.ts'
export type { Finding } from './doctor/finding.ts'
export { migrationSql } from './schema/migration-sql.ts'
export { schemaStatus, type SchemaStatusOptions } from './schema/schema-status.ts'
export type { PostgresOptions } from './connect/options.ts'
export { postgres } from './store.ts'
export type { Queryable } from './transactions/transact-queries.ts'
