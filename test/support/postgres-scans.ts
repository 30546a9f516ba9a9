import type { Pool } from 'pg'
import type { TestSchema } from './postgres.ts'

// How much of tables a call reads. Measured on the connection that makes it, which has made its plans.

/** By table: how often it was read through, and how many rows were fetched by an index. */
export type Scans = Record<string, { readonly seq: number; readonly fetched: number }>

/** What the server believes of a table: nothing yet, or that it is empty, as its last vacuum found it. */
export type Known = 'nothing' | 'emptied'

const STATISTICS: Record<Known, string> = {
  nothing: 'relpages = 0, reltuples = -1',
  emptied: 'relpages = 100, reltuples = 0',
}

/**
 * Without it, the server may look at a table, and plan anew, in the middle of a test; and tables of a
 * schema that is used again are known from its last use.
 */
export async function forbidVacuum(
  database: TestSchema,
  tables: readonly string[],
  known: Known = 'nothing',
): Promise<void> {
  for (const table of tables) {
    await database.query(`alter table ${table} set (autovacuum_enabled = off)`)
    await database.query(`update pg_class set ${STATISTICS[known]} where oid = $1::regclass`, [
      table,
    ])
  }
}

/** What `call` reads of these tables, on the only connection of `pool`. It is undone afterwards. */
export async function scansOf(
  pool: Pool,
  schema: string,
  tables: readonly string[],
  call: () => Promise<unknown>,
): Promise<Scans> {
  await pool.query('begin')
  const before = await readScans(pool, schema, tables)
  await call()
  const after = await readScans(pool, schema, tables)
  await pool.query('rollback')
  return Object.fromEntries(
    Object.entries(after).map(([table, { seq, fetched }]) => [
      table,
      { seq: seq - before[table]!.seq, fetched: fetched - before[table]!.fetched },
    ]),
  )
}

/** What the connection has read and not yet reported. */
async function readScans(pool: Pool, schema: string, tables: readonly string[]): Promise<Scans> {
  const { rows } = await pool.query<{ relname: string; seq: string; fetched: string }>(
    `select relname, seq_scan as seq, idx_tup_fetch as fetched
    from pg_stat_xact_user_tables
    where schemaname = $1
      and relname = any ($2)`,
    [schema, tables],
  )
  return Object.fromEntries(
    rows.map(({ relname, seq, fetched }) => [
      relname,
      { seq: Number(seq), fetched: Number(fetched) },
    ]),
  )
}
