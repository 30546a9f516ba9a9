import { expect, test } from 'vitest'

import { testSchema, type TestSchema } from '../../test/support/postgres.ts'
import { MIGRATIONS, PROCEDURES } from './generated/sql.ts'
import { migrate } from './migrate.ts'
import { quoted } from './schema-name.ts'
import type { SqlFile } from './sql-file.ts'
import { postgresWorkflowStore } from './workflow-store.ts'

const NUMBERS: SqlFile = {
  name: 'migrations/0001_numbers',
  checksum: 'a',
  sql: 'create table numbers (n integer)',
}
const ONE: SqlFile = {
  name: 'procedures/one',
  checksum: 'a',
  sql: `create or replace function one() returns integer language sql
    set search_path from current as 'select 1'`,
}
const FILES = { migrations: [NUMBERS], procedures: [ONE] }

test('a new schema gets its tables and procedures, and the next start changes nothing', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema)
  const before = await applied(database)

  await migrate(client, database.schema)

  expect(before.map(({ name }) => name)).toEqual(
    [...MIGRATIONS, ...PROCEDURES].map(({ name }) => name).toSorted(),
  )
  expect(await applied(database)).toEqual(before)
})

test('many that start at once make one schema, and none of them fails', async () => {
  await using database = await testSchema()
  const clients = await Promise.all(Array.from({ length: 8 }, () => database.connect()))

  const outcomes = await Promise.allSettled(
    clients.map((client) => migrate(client, database.schema)),
  )

  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
  expect(await applied(database)).toHaveLength(MIGRATIONS.length + PROCEDURES.length)
})

test.each(['we ird', 'Quo"te', 'select', "o'hara", 'größe', 'a.b', '$1'])(
  'a schema may be called %s',
  async (prefix) => {
    await using database = await testSchema(prefix)
    const store = postgresWorkflowStore({
      source: { url: database.url },
      schema: database.schema,
    })

    await store.open()
    const { workflows } = await store.register({
      leaseMs: 1000,
      info: '',
      workflows: [{ name: 'order', version: '1' }],
    })
    await store.close()

    expect(workflows).toEqual([1])
    const [found] = await database.query<{ schema: string }>(
      `select relnamespace::regnamespace::text as schema
      from pg_class where oid = to_regclass($1)`,
      [`${quoted(database.schema)}.runtimes`],
    )
    expect(found?.schema).toBeDefined()
  },
)

test('a procedure is applied again when its text changed, a migration is not', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, FILES)
  const two = { ...ONE, checksum: 'b', sql: ONE.sql.replace('select 1', 'select 2') }

  await migrate(client, database.schema, { ...FILES, procedures: [two] })

  expect(await database.query('select one() as n')).toEqual([{ n: 2 }])
  expect(await applied(database)).toEqual([
    { name: 'migrations/0001_numbers', checksum: 'a' },
    { name: 'procedures/one', checksum: 'b' },
  ])
})

test('only the migrations that are missing are applied', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, FILES)
  const more = {
    name: 'migrations/0002_more',
    checksum: 'a',
    sql: 'alter table numbers add column m integer',
  }

  await migrate(client, database.schema, { ...FILES, migrations: [NUMBERS, more] })

  expect(await database.query('select n, m from numbers')).toEqual([])
})

test('what the first version wrote is read by this one', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, { migrations: MIGRATIONS.slice(0, 1), procedures: [] })
  await database.query(`insert into workflows (name, version) values ('order', '1')`)
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    values (1, 'order-1', 1, 1, 1, 0, 0)`,
  )
  await database.query('insert into runs (iid, workflow, epoch) values (1, 1, 1)')
  await database.query(`insert into inbox (iid, kind, execution, command, payload)
    values (1, 1, 1, 7, 'x')`)
  // A procedure that answers otherwise since then.
  await database.query(`create function load(bigint[], integer[]) returns table (part text)
    language sql as 'select null::text'`)
  const store = postgresWorkflowStore({
    source: { url: database.url },
    schema: database.schema,
  })

  await store.open()
  const loaded = await store.load([{ iid: 1, after: 0 }])
  const [found] = await store.find(['order-1'])
  await store.close()

  expect(loaded).toMatchObject([
    { parent: null, inbox: [{ kind: 'completed', command: 7, name: '', parked: false }] },
  ])
  expect(found).toMatchObject({ status: 'running', parent: null, labels: '{}', mail: 0 })
})

test('a schema of a newer version is refused and left as it is', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, FILES)
  const before = await applied(database)

  const older = migrate(client, database.schema, {
    migrations: [],
    procedures: [{ ...ONE, checksum: 'old' }],
  })

  await expect(older).rejects.toMatchObject({
    code: 'newer_schema',
    message: expect.stringContaining('migrations/0001_numbers'),
  })
  expect(await applied(database)).toEqual(before)
})

test('a migration that was edited after it was applied is refused', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, FILES)

  const edited = migrate(client, database.schema, {
    ...FILES,
    migrations: [{ ...NUMBERS, checksum: 'b' }],
  })

  await expect(edited).rejects.toMatchObject({ code: 'misconfigured' })
})

test('a migration that fails leaves nothing behind, and the next try succeeds', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  const broken = { name: 'migrations/0002_broken', checksum: 'a', sql: 'create table ()' }

  const failed = migrate(client, database.schema, { ...FILES, migrations: [NUMBERS, broken] })

  await expect(failed).rejects.toMatchObject({ code: '42601' })
  await migrate(client, database.schema, FILES)
  expect(await applied(database)).toHaveLength(2)
})

test('an up-to-date schema is only read', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, FILES)
  await client.query('set default_transaction_read_only to on')

  await expect(migrate(client, database.schema, FILES)).resolves.toBeUndefined()
})

function applied(database: TestSchema): Promise<{ name: string; checksum: string }[]> {
  return database.query('select name, checksum from holdfast_migrations order by name')
}
