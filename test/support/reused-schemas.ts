// Schemas that are used by one test after the other: to make one takes longer than most tests do.
//
//   - Only one that holds the tables and procedures it was made with is used again; what a test
//     created or altered goes with the schema.
//   - One that is used again has no rows, its sequences start over and its clock is the server's.
//   - A process keeps few that are idle, each with a connection; `postgres-setup.ts` drops them when
//     all tests have ended.

import { appendFileSync } from 'node:fs'
import { inject } from 'vitest'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { testSchema, type TestSchema } from './postgres.ts'
import { keepConnections, letGo } from './reused-connections.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The file with the names of schemas that are kept. Given by `postgres-setup.ts`. */
    keptSchemas: string
  }
}

const MAX_IDLE = 10

/** The one that was used last is the last. */
const idle: ReusedSchema[] = []

/** A schema of one test, with all that a store makes in it. */
export interface ReusedSchema extends AsyncDisposable {
  /** Tells apart those that were made differently; it begins their names. */
  readonly prefix: string
  readonly database: TestSchema
  /** For stores in it: they use the connections of those before them. */
  readonly url: string
}

/**
 * One that another test has done with, if there is one; `prefix` begins its name. `prepare` makes
 * what a new one holds besides; it is the same for all of a prefix.
 */
export async function reuseSchema(
  prefix: string,
  prepare?: (store: WorkflowStore, database: TestSchema) => Promise<unknown>,
): Promise<ReusedSchema> {
  const at = idle.findLastIndex((schema) => schema.prefix === prefix)
  return at === -1 ? newSchema(prefix, prepare) : idle.splice(at, 1)[0]!
}

async function newSchema(
  prefix: string,
  prepare: Parameters<typeof reuseSchema>[1],
): Promise<ReusedSchema> {
  const database = await testSchema(prefix)
  appendFileSync(inject('keptSchemas'), `${database.schema}\n`)
  const url = keepConnections(database.url)
  const store = postgresWorkflowStore({ source: { url }, schema: database.schema })
  await store.open()
  await prepare?.(store, database)
  await store.close()
  const asNew = await look(database)
  const cleaning = await cleaningOf(database)
  const schema: ReusedSchema = {
    prefix,
    database,
    url,
    async [Symbol.asyncDispose]() {
      await database.disconnect()
      // One without the tables cannot be looked at.
      const now = await look(database).catch(() => undefined)
      if (now?.made !== asNew.made) return drop(schema)
      await database.query(cleaning.rows)
      if (now.clock !== asNew.clock) {
        await database.query(cleaning.clock)
        asNew.clock = (await look(database)).clock
      }
      idle.push(schema)
      if (idle.length > MAX_IDLE) await drop(idle.shift()!)
    },
  }
  return schema
}

async function drop({ database, url }: ReusedSchema): Promise<void> {
  await letGo(url)
  await database[Symbol.asyncDispose]()
}

/** Of a clock that a test may set. */
const CLOCK = `('now_ms', 'server_since')`

/** What a schema consists of. */
interface Look {
  /** Changes with every table, index, sequence and procedure, and with the migrations that were run. */
  readonly made: string
  /** Changes with the clock. */
  clock: string
}

async function look(database: TestSchema): Promise<Look> {
  const [row] = await database.query<Look>(
    `select
      md5(string_agg(thing, ',' order by thing) filter (where not is_clock)) as made,
      string_agg(thing, ',' order by thing) filter (where is_clock) as clock
    from (
      select concat('table ', oid, ' ', xmin) as thing, false as is_clock
      from pg_class where relnamespace = (select to_regnamespace($1))
      union all
      select concat('procedure ', oid, ' ', xmin), proname in ${CLOCK}
      from pg_proc where pronamespace = (select to_regnamespace($1))
      union all
      select concat('migration ', m), false from holdfast_migrations as m
    ) as things`,
    [quoted(database.schema)],
  )
  return row!
}

/** SQL that restores a schema. */
interface Cleaning {
  readonly rows: string
  /** Apart, because every connection plans anew after it. */
  readonly clock: string
}

async function cleaningOf(database: TestSchema): Promise<Cleaning> {
  const rows = await database.query<{ statement: string }>(
    `select format('delete from %I.%I', schemaname, tablename) as statement
    from pg_tables where schemaname = $1 and tablename <> 'holdfast_migrations'
    union all
    select format('select setval(%L, %s, false)', format('%I.%I', schemaname, sequencename), start_value)
    from pg_sequences where schemaname = $1`,
    [database.schema],
  )
  const clock = await database.query<{ statement: string }>(
    `select pg_get_functiondef(oid) as statement
    from pg_proc where pronamespace = to_regnamespace($1) and proname in ${CLOCK}`,
    [quoted(database.schema)],
  )
  return { rows: joined(rows), clock: joined(clock) }
}

const joined = (rows: readonly { readonly statement: string }[]): string =>
  rows.map(({ statement }) => statement).join(';\n')
