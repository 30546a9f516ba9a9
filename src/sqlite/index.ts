// The public entry `holdfast/sqlite`.
import type { ActivityOptions } from '../engine/define/activity-options.ts'
import type { Limit } from '../engine/define/limit.ts'
import type { Activity } from '../engine/define/definitions.ts'
import type { Schema } from '../base/schema.ts'
import { defineTransaction, type TransactionContext } from '../engine/define/transactions.ts'
import type { Statements } from './transactions/transact-statements.ts'

/** What code may return that cannot wait: anything but a promise. */
export type Synchronous<Out> = Out extends PromiseLike<unknown> ? never : Out

/**
 * Defines an activity whose own SQL and whose result are committed together: what it writes through
 * `ctx.tx` happens exactly once. Its tables are in the file of the store.
 *
 * It is committed when the code returns, and rolled back when it throws; then it is retried like
 * any activity. The code is not async: while it runs, no other connection can write to the file.
 */
export function transaction<In, Out>(
  name: string,
  run: (input: In, ctx: TransactionContext<Statements>) => Synchronous<Out>,
): Activity<In, Out>
export function transaction<Out, Parsed, In = Parsed>(
  name: string,
  options: ActivityOptions & { input?: Schema<In, Parsed>; limit?: Limit<NoInfer<Parsed>> },
  run: (input: Parsed, ctx: TransactionContext<Statements>) => Synchronous<Out>,
): Activity<In, Out>
export function transaction(name: string, ...rest: unknown[]): unknown {
  return defineTransaction('sqlite', name, rest)
}

export type { TransactionContext } from '../engine/define/transactions.ts'
export type { SchemaStatus } from '../store/schema-status.ts'
export type { Store } from '../store/store.ts'
export type { DriverName, SqliteDatabase } from './connect/driver.ts'
export { openDatabase } from './file/open-database.ts'
export type { SqliteOptions } from './connect/options.ts'
export { schemaStatus, type SchemaStatusOptions } from './schema-status.ts'
export { sqlite } from './sqlite.ts'
export type { Statements } from './transactions/transact-statements.ts'
