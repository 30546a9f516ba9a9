import { type Activity } from '../../src/index.ts'
import { transaction as postgresTransaction } from '../../src/postgres/index.ts'
import { transaction as sqliteTransaction } from '../../src/sqlite/index.ts'
import { openSpace, type Space } from '../support/engine.ts'

// Transactions as workflow code calls them, on both stores by the same words.

/** What a transaction does: `write` adds an entry; on PostgreSQL it is awaited. */
export type Run = (input: string, ctx: Inside) => unknown

/** What the code is given. */
export interface Inside {
  readonly attempt: number
  readonly signal: AbortSignal
  readonly heartbeat: (details?: unknown) => void
  readonly write: (entry: string) => unknown
}

/** A place with a table for entries. */
export interface EngineScene extends AsyncDisposable {
  readonly space: Space
  /** A transaction of this store, retried at once. */
  readonly define: (name: string, run: Run, options?: object) => Activity<string, unknown>
  readonly prepare: Activity<undefined, unknown>
  readonly entries: Activity<undefined, unknown>
}

const AT_ONCE = { retry: { backoff: 'none', maxAttempts: 3 } } as const

interface Row {
  readonly entry: string
}

async function onSqlite(): Promise<EngineScene> {
  const space = await openSpace('file')
  return {
    space,
    define: (name, run, options = {}) =>
      sqliteTransaction(name, { ...AT_ONCE, ...options }, (input: string, ctx) => {
        const { attempt, signal, heartbeat, tx } = ctx
        const write = (entry: string) => tx.run('insert into entries values (?)', entry)
        return run(input, { attempt, signal, heartbeat, write })
      }),
    prepare: sqliteTransaction('prepare', (_: undefined, { tx }) => {
      tx.run('create table entries (entry text)')
    }),
    entries: sqliteTransaction('entries', (_: undefined, { tx }) =>
      tx.all('select entry from entries order by entry').map((row) => (row as Row).entry),
    ),
    [Symbol.asyncDispose]: () => space[Symbol.asyncDispose](),
  }
}

let tables = 0

/** On PostgreSQL alone. */
export async function onPostgres(): Promise<EngineScene> {
  const space = await openSpace('postgres')
  const table = `entries_${process.pid}_${++tables}`
  return {
    space,
    define: (name, run, options = {}) =>
      postgresTransaction(name, { ...AT_ONCE, ...options }, async (input: string, ctx) => {
        const { attempt, signal, heartbeat, tx } = ctx
        const write = (entry: string) => tx.query(`insert into ${table} values ($1)`, [entry])
        return run(input, { attempt, signal, heartbeat, write })
      }),
    prepare: postgresTransaction('prepare', async (_: undefined, { tx }) => {
      await tx.query(`drop table if exists ${table}`)
      await tx.query(`create table ${table} (entry text)`)
    }),
    entries: postgresTransaction('entries', async (_: undefined, { tx }) => {
      const { rows } = await tx.query(`select entry from ${table} order by entry`)
      return rows.map((row) => (row as Row).entry)
    }),
    [Symbol.asyncDispose]: () => space[Symbol.asyncDispose](),
  }
}

/** Both stores. */
export const ENGINE_SCENES = [
  ['sqlite', onSqlite],
  ['postgres', onPostgres],
] as const

/** Continues with `value`, at once if it need not be awaited. */
export function afterwards<T>(value: unknown, next: () => T): T | Promise<T> {
  return value instanceof Promise ? value.then(next) : next()
}
