// Schemas that are used by one test after the other: to make one takes longer than most tests do.
//
//   R1. Only one that holds the tables and procedures it was made with is used again; what a test
//       created or altered goes with the schema.
//   R2. One that is used again has no rows, its sequences begin anew and its clock is the server's.

import { afterAll } from 'vitest'
import { quoted } from '../../src/postgres/schema-name.ts'
import { testSchema, type TestSchema } from './postgres.ts'

const idle = new Map<string, ReusedSchema[]>()

/** A schema of one test, with what it looked like when the store had made it. */
export interface ReusedSchema extends AsyncDisposable {
  readonly database: TestSchema
  /** To be called when the store is open for the first time. */
  made(): Promise<void>
}

/** One that another test of this file has done with, if there is one. */
export async function reuseSchema(prefix: string): Promise<ReusedSchema> {
  return idle.get(prefix)?.pop() ?? newSchema(prefix, await testSchema(prefix))
}

// Of the file that is run: those who use this have a process each.
afterAll(async () => {
  const left = [...idle.values()].flat()
  idle.clear()
  for (const { database } of left) await database[Symbol.asyncDispose]()
})

interface Made {
  readonly look: string
  /** Statements that make it as new. */
  readonly cleaning: string
}

function newSchema(prefix: string, database: TestSchema): ReusedSchema {
  let made: Made | undefined
  const schema: ReusedSchema = {
    database,
    async made() {
      made ??= { look: await look(database), cleaning: await cleaningOf(database) }
    },
    async [Symbol.asyncDispose]() {
      if (made === undefined || (await look(database)) !== made.look) {
        return database[Symbol.asyncDispose]()
      }
      await database.query(made.cleaning)
      idle.set(prefix, [...(idle.get(prefix) ?? []), schema])
    },
  }
  return schema
}

/** Changes with every table, index, sequence and procedure that is created, altered or dropped. */
async function look(database: TestSchema): Promise<string> {
  const [row] = await database.query<{ look: string }>(
    `select md5(string_agg(thing, ',' order by thing)) as look
    from (
      select concat('table ', oid, ' ', xmin) as thing
      from pg_class where relnamespace = to_regnamespace($1)
      union all
      select concat('procedure ', oid, ' ', case when proname <> 'now_ms' then xmin end)
      from pg_proc where pronamespace = to_regnamespace($1)
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
