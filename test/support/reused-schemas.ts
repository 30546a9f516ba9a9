// Schemas that are used by one test after the other: to make one takes longer than most tests do.
//
//   - Only one that holds the tables and procedures it was made with is used again; what a test
//     created or altered goes with the schema.
//   - One that is used again has no rows, its sequences begin anew and its clock is the server's.

import { afterAll } from 'vitest'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { testSchema, type TestSchema } from './postgres.ts'
import { keepConnections, letGo } from './reused-connections.ts'

const idle = new Map<string, ReusedSchema[]>()

/** A schema of one test, with all that a store makes in it. */
export interface ReusedSchema extends AsyncDisposable {
  readonly database: TestSchema
  /** For stores in it: they use the connections of those before them. */
  readonly url: string
}

/** One that another test has done with, if there is one; `prefix` begins its name. */
export async function reuseSchema(prefix: string): Promise<ReusedSchema> {
  return idle.get(prefix)?.pop() ?? newSchema(prefix)
}

/** Has those that are idle dropped at the end of the suite or file that this is called in. */
export function dropReusedSchemas(): void {
  afterAll(async () => {
    const left = [...idle.values()].flat()
    idle.clear()
    for (const { database, url } of left) await drop(database, url)
  })
}

async function newSchema(prefix: string): Promise<ReusedSchema> {
  const database = await testSchema(prefix)
  const url = keepConnections(database.url)
  const store = postgresWorkflowStore({ source: { url }, schema: database.schema })
  await store.open()
  await store.close()
  const lookOfNew = await look(database)
  const cleaning = await cleaningOf(database)
  const schema: ReusedSchema = {
    database,
    url,
    async [Symbol.asyncDispose]() {
      if ((await look(database)) !== lookOfNew) return drop(database, url)
      await database.query(cleaning)
      idle.set(prefix, [...(idle.get(prefix) ?? []), schema])
    },
  }
  return schema
}

async function drop(database: TestSchema, url: string): Promise<void> {
  await letGo(url)
  await database[Symbol.asyncDispose]()
}

/** Changes with every table, index, sequence and procedure that is created, altered or dropped. */
async function look(database: TestSchema): Promise<string> {
  const [row] = await database.query<{ look: string }>(
    `select md5(string_agg(thing, ',' order by thing)) as look
    from (
      select concat('table ', oid, ' ', xmin) as thing
      from pg_class where relnamespace = (select to_regnamespace($1))
      union all
      select concat('procedure ', oid, ' ', case when proname <> 'now_ms' then xmin end)
      from pg_proc where pronamespace = (select to_regnamespace($1))
    ) as things`,
    [quoted(database.schema)],
  )
  return row!.look
}

async function cleaningOf(database: TestSchema): Promise<string> {
  const rows = await database.query<{ statement: string }>(
    `select format('delete from %I.%I', schemaname, tablename) as statement
    from pg_tables where schemaname = $1 and tablename <> 'holdfast_migrations'
    union all
    select format('select setval(%L, %s, false)', format('%I.%I', schemaname, sequencename), start_value)
    from pg_sequences where schemaname = $1
    union all
    select pg_get_functiondef(oid)
    from pg_proc where pronamespace = to_regnamespace($2) and proname = 'now_ms'`,
    [database.schema, quoted(database.schema)],
  )
  return rows.map(({ statement }) => statement).join(';\n')
}
