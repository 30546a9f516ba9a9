import { realpathSync } from 'node:fs'
import { describe } from '../../base/describe.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Transaction } from '../file/database.ts'
import type { Statement, Value } from '../connect/driver.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { HandlerStatements } from './handler-statements.ts'
import { TransactStatements } from './transact-statements.ts'

// A connection that the user opened, with `better-sqlite3` or `node:sqlite`, and began a
// transaction on. Both are recognised by their methods alone.

/** What the two have in common, and where they differ. */
export interface Handle {
  prepare(sql: string): {
    run(...values: Value[]): { readonly changes: number | bigint }
    all(...values: Value[]): unknown[]
    get(...values: Value[]): unknown
    /** better-sqlite3 */
    safeIntegers?(on: boolean): unknown
    /** node:sqlite */
    setReadBigInts?(on: boolean): unknown
  }
  exec(sql: string): unknown
  /** better-sqlite3 */
  readonly inTransaction?: boolean
  /** node:sqlite; not in its first versions. */
  readonly isTransaction?: boolean
}

/** The handle; throws a `TypeError` if it is not one. */
export function checkHandle(value: unknown): Handle {
  if (value instanceof TransactStatements) {
    throw new TypeError(
      'in: the tx of a SQLite transaction cannot be used here, since nothing can be awaited in it; ' +
        'start and send from the workflow, after the transaction',
    )
  }
  if (value instanceof HandlerStatements) {
    throw new TypeError(
      'in: the tx of a transactional handler cannot be used here on SQLite, only on PostgreSQL; use ' +
        'handle() and a transaction of your own, which enqueues, starts or sends',
    )
  }
  const { prepare, exec } = (value ?? {}) as Partial<Handle>
  if (typeof prepare === 'function' && typeof exec === 'function') return value as Handle
  throw new TypeError(
    `in: needs a handle of better-sqlite3 or node:sqlite inside a transaction, got ${describe(value)}`,
  )
}

/** Whether the handle says itself that it is in a transaction. */
export function saysSo({ inTransaction, isTransaction }: Handle): boolean {
  return (inTransaction ?? isTransaction) !== undefined
}

/** Whether what is written now waits for a commit. */
export function isInTransaction(handle: Handle): boolean {
  const said = handle.inTransaction ?? handle.isTransaction
  if (said !== undefined) return said
  // SQLite has no nested transactions: `begin` fails exactly when there is one.
  try {
    handle.exec('begin')
  } catch {
    return true
  }
  handle.exec('rollback')
  return false
}

/** Refuses a handle of another file, or one that would lose what it commits in a power failure. */
export function checkPlace(handle: Handle, { path, durability }: SqliteSettings): void {
  const [main] = handle.prepare('pragma database_list').all() as { file: string }[]
  const file = main?.file ?? ''
  if (path === ':memory:' || file === '' || realpathSync(file) !== realpathSync(path)) {
    throw new TypeError(
      `in: the handle is on ${file === '' ? 'a database in memory' : file}, the store in ${path}`,
    )
  }
  const [row] = handle.prepare('pragma synchronous').all() as { synchronous: number | bigint }[]
  if (durability === 'fsync' && Number(row!.synchronous) < 2) {
    throw new StoreError(
      'misconfigured',
      'in',
      'the handle does not wait for the disk, so what it commits could be lost in a power failure; run ' +
        '"pragma synchronous = full" on it when you open it, or open the store with durability "os"',
    )
  }
}

/** The inside of the user's transaction, as operations work with it. */
export function transactionOf(handle: Handle, now: number): Transaction {
  return {
    sql: (text) => statementOf(handle, text),
    now,
    get server() {
      return (statementOf(handle, 'select server from store').get() as { server: string }).server
    },
  }
}

/** Prepared once: that takes longer than most of them. */
const prepared = new WeakMap<Handle, Map<string, Statement>>()

function statementOf(handle: Handle, text: string): Statement {
  let statements = prepared.get(handle)
  if (statements === undefined) prepared.set(handle, (statements = new Map()))
  const known = statements.get(text) ?? prepareOn(handle, text)
  statements.set(text, known)
  return known
}

function prepareOn(handle: Handle, text: string): Statement {
  const statement = handle.prepare(text)
  // Overrides what the user set for their own statements.
  statement.safeIntegers?.(false)
  statement.setReadBigInts?.(false)
  return {
    run: (...values) => Number(statement.run(...values).changes),
    all: (...values) => statement.all(...values),
    lists: (...values) => (statement.all(...values) as object[]).map((row) => Object.values(row)),
    get: (...values) => statement.get(...values),
  }
}
