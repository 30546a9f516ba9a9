import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { migrate } from '../../src/postgres/schema/migrate.ts'
import { migrationSql } from '../../src/postgres/schema/migration-sql.ts'
import { FILES } from '../../src/postgres/schema/schema-state.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'

// A database that version 0.1.0 made: its tables, and its procedures without their code.

const EARLIER = readFileSync(join(import.meta.dirname, 'procedures-0.1.0.sql'), 'utf8')
const NAMES = namesIn(EARLIER)
const CALLED = namesIn(EARLIER.slice(0, EARLIER.indexOf('-- Called by other procedures only.')))

function namesIn(sql: string): string[] {
  return Array.from(sql.matchAll(/^create function (\w+)/gm), ([, name]) => name!)
}

interface Signature {
  readonly name: string
  readonly parameters: readonly string[]
  readonly answer: readonly string[]
}

test('the procedures of 0.1.0 are replaced, and those that are gone are dropped', async () => {
  await using upgraded = await earlier()
  await using printed = await earlier()
  await using fresh = await testSchema()

  await migrate(await upgraded.connect(), upgraded.schema)
  await printed.query(migrationSql({ schema: printed.schema }))
  await migrate(await fresh.connect(), fresh.schema)

  const expected = await functions(fresh)
  expect(await functions(upgraded)).toEqual(expected)
  expect(await functions(printed)).toEqual(expected)
  expect(await recorded(upgraded)).toEqual(await recorded(fresh))
  expect(await recorded(printed)).toEqual(await recorded(fresh))
})

test('processes of 0.1.0 find every procedure that they call, and the answers that they read', async () => {
  await using before = await earlier()
  const earlierOnes = await signatures(before)

  await migrate(await before.connect(), before.schema)

  const laterOnes = new Map((await signatures(before)).map((each) => [each.name, each]))
  expect(CALLED.length).toBeGreaterThan(40)
  for (const earlierOne of earlierOnes.filter(({ name }) => CALLED.includes(name))) {
    const { name, parameters, answer } = earlierOne
    const later = laterOnes.get(name)
    const known = {
      name,
      parameters: later?.parameters.slice(0, parameters.length),
      answer: later?.answer.filter((column) => answer.includes(column)),
    }
    expect(known).toEqual(earlierOne)
  }
})

test('a function of another application stays, whatever its name', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema)
  const [retired] = FILES.retired!
  await database.query(`create function ${retired}() returns int language sql as 'select 1'`)
  const again = FILES.procedures.map((file) => ({ ...file, checksum: 'again' }))

  await migrate(client, database.schema, { ...FILES, procedures: again })

  expect(await database.query(`select ${retired}() as n`)).toEqual([{ n: 1 }])
})

/** A schema as version 0.1.0 left it. */
async function earlier(): Promise<TestSchema> {
  const database = await testSchema()
  await migrate(await database.connect(), database.schema, {
    migrations: FILES.migrations.filter(({ name }) => name <= 'migrations/0015_terminations'),
    procedures: [],
    version: '0.1.0',
  })
  await database.query(EARLIER)
  await database.query(
    `insert into holdfast_migrations (name, checksum, version)
    select 'procedures/' || name, 'of 0.1.0', '0.1.0' from unnest($1::text[]) as name`,
    [NAMES],
  )
  return database
}

/** All functions with their code and settings. */
function functions(database: TestSchema): Promise<unknown> {
  return database.query(
    `select proname as name, pg_get_function_arguments(oid) as parameters,
      pg_get_function_result(oid) as answer, prosrc as code,
      array(select replace(c, $1, 'schema') from unnest(proconfig) as c order by c) as settings
    from pg_proc
    where pronamespace = $1::regnamespace
    order by proname`,
    [database.schema],
  )
}

function recorded(database: TestSchema): Promise<unknown> {
  return database.query('select name, checksum, version from holdfast_migrations order by name')
}

async function signatures(database: TestSchema): Promise<Signature[]> {
  return database.query<Signature>(
    `select p.proname as name,
      array(
        select a.name || ' ' || format_type(a.type, null)
        from unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes)
          with ordinality as a (name, type, mode, place)
        where coalesce(a.mode, 'i') = 'i'
        order by a.place
      ) as parameters,
      array(
        select coalesce(a.name, '') || ' ' || format_type(a.type, null)
        from unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes)
          with ordinality as a (name, type, mode, place)
        where a.mode in ('o', 't')
        order by a.place
      ) as answer
    from pg_proc as p
    where p.pronamespace = $1::regnamespace
    order by p.proname`,
    [database.schema],
  )
}
