import { randomBytes } from 'node:crypto'

import { Client } from 'pg'
import { describe, expect, test } from 'vitest'

import { manifestOf } from '../../../test/support/postgres-manifest.ts'
import { testSchema, type TestSchema } from '../../../test/support/postgres.ts'
import { MIGRATIONS, PROCEDURES } from './sql.generated.ts'
import { migrate } from './migrate.ts'
import { migrationSql, sqlFor } from './migration-sql.ts'
import { quoted } from '../connect/schema-name.ts'
import { outboxFiles } from './outbox-files.ts'
import { FILES as SHIPPED, readApplied, schemaState } from './schema-state.ts'
import type { SqlFile } from './sql-file.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

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
const FILES = { migrations: [NUMBERS], procedures: [ONE], version: '1.0.0' }

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

test('many concurrent starts create one schema, and none fails', async () => {
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

test('data that the first version wrote can be read', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  await migrate(client, database.schema, {
    ...FILES,
    migrations: MIGRATIONS.slice(0, 1),
    procedures: [],
    version: '0.0.1',
  })
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
    ...FILES,
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

describe('versions side by side', () => {
  const NEXT: SqlFile = {
    name: 'migrations/0002_next',
    checksum: 'a',
    worksWith: '0001',
    sql: 'alter table numbers add column m integer',
  }
  const TWO = { ...ONE, checksum: 'b', sql: ONE.sql.replace('select 1', 'select 2') }
  const NEWER = { migrations: [NUMBERS, NEXT], procedures: [TWO], version: '1.1.0' }

  test('an older version opens a newer schema that works with it, and leaves it as it is', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    await migrate(client, database.schema, FILES)
    await migrate(client, database.schema, NEWER)
    const before = await applied(database)

    await migrate(client, database.schema, FILES)

    expect(await applied(database)).toEqual(before)
    expect(await database.query('select one() as n')).toEqual([{ n: 2 }])
  })

  test('an older version does not put its procedures in the place of newer ones', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    await migrate(client, database.schema, { ...FILES, procedures: [TWO], version: '1.0.1' })

    await migrate(client, database.schema, FILES)

    expect(await database.query('select one() as n')).toEqual([{ n: 2 }])
  })

  test('of one version, the latest text is used', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    await migrate(client, database.schema, { ...FILES, procedures: [TWO] })

    await migrate(client, database.schema, FILES)

    expect(await database.query('select one() as n')).toEqual([{ n: 1 }])
  })

  test('a gap of two schema versions is refused', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    const after = { ...NEXT, name: 'migrations/0003_after', worksWith: '0002', sql: 'select 1' }
    await migrate(client, database.schema, {
      ...NEWER,
      migrations: [NUMBERS, NEXT, after],
      version: '1.2.0',
    })

    const older = migrate(client, database.schema, FILES)
    const between = migrate(client, database.schema, NEWER)

    await expect(older).rejects.toMatchObject({
      code: 'newer_schema',
      message: expect.stringMatching(
        /newer version .* \(1\.2\.0\), which version 1\.0\.0 does not work with/,
      ),
    })
    await expect(between).resolves.toBeUndefined()
  })

  test('a schema from before versions were noted is brought up to date', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    await database.query(`create schema ${database.schema}`)
    await database.query(`create table holdfast_migrations (
      name text primary key, checksum text not null, applied_at timestamptz default now())`)
    await database.query(`insert into holdfast_migrations values ('migrations/0001_numbers', 'a')`)
    await database.query(NUMBERS.sql)

    await migrate(client, database.schema, NEWER)

    expect(
      await database.query('select name, version from holdfast_migrations order by name'),
    ).toEqual([
      { name: 'migrations/0001_numbers', version: null },
      { name: 'migrations/0002_next', version: '1.1.0' },
      { name: 'procedures/one', version: '1.1.0' },
    ])
  })
})

describe('trouble on the way', () => {
  test('a migration killed half-way leaves nothing behind, and the next one applies everything', async () => {
    await using database = await testSchema()
    const [victim, next] = [await database.connect(), await database.connect()]
    const { rows } = await victim.query<{ pid: number }>('select pg_backend_pid() as pid')
    const slow = { name: 'migrations/0002_slow', checksum: 'a', sql: 'select pg_sleep(600)' }
    const killed = migrate(victim, database.schema, { ...FILES, migrations: [NUMBERS, slow] })
    const outcome = killed.catch((error: unknown) => error)
    await untilSeen(database, `wait_event = 'PgSleep' and pid = ${rows[0]!.pid}`)

    await database.query('select pg_terminate_backend($1)', [rows[0]!.pid])
    await outcome
    const between = await database.query('select to_regnamespace($1) as schema', [database.schema])
    await migrate(next, database.schema, FILES)

    expect(between).toEqual([{ schema: null }])
    expect(await applied(database)).toHaveLength(2)
  })

  test('waiting for a table in use is interrupted at intervals, so that others can continue', async () => {
    await using database = await testSchema()
    const [user, client, other] = await Promise.all([1, 2, 3].map(() => database.connect()))
    await migrate(client!, database.schema, FILES)
    await user!.query('begin')
    await user!.query('select * from numbers')
    const more = { name: 'migrations/0002_more', checksum: 'a', sql: 'drop table numbers' }
    const waiting = `wait_event_type = 'Lock' and query like 'drop table numbers%'`

    const done = migrate(client!, database.schema, { ...FILES, migrations: [NUMBERS, more] })
    await untilSeen(database, waiting)
    // It waits in line behind the migration, until that gives up for a moment.
    await other!.query('select * from numbers')
    await user!.query('commit')
    await done

    expect(await database.query('select to_regclass($1) as found', ['numbers'])).toEqual([
      { found: null },
    ])
  })

  test('a user that locks its tables in another order delays it, and does not fail it', async () => {
    await using database = await testSchema()
    const [user, client] = await Promise.all([1, 2].map(() => database.connect()))
    await migrate(client!, database.schema, FILES)
    await database.query('create table letters (c text)')
    // A session looks for a deadlock once, when it has waited for this long.
    await user!.query(`set deadlock_timeout = '1min'`)
    await client!.query(`set deadlock_timeout = '3s'`)
    await user!.query('begin; select * from letters')
    const sql = 'drop table numbers; drop table letters'
    const more = { name: 'migrations/0002_more', checksum: 'a', sql }

    const done = migrate(client!, database.schema, { ...FILES, migrations: [NUMBERS, more] })
    await untilSeen(database, `wait_event_type = 'Lock' and query like 'drop table numbers%'`)
    // Each has what the other one wants. The migration looks first, and is given up.
    await user!.query('select * from numbers')
    await user!.query('commit')
    await done

    expect(await database.query('select to_regclass($1) as found', ['letters'])).toEqual([
      { found: null },
    ])
  })

  test('a role that is not allowed to change the schema gets an error that says what to do', async () => {
    await using database = await testSchema()
    await migrate(await database.connect(), database.schema, FILES)
    await using role = await roleFor(database)
    const client = await role.connect()
    const more = { name: 'migrations/0002_more', checksum: 'a', sql: 'create table more ()' }

    const refused = migrate(client, database.schema, { ...FILES, migrations: [NUMBERS, more] })

    await expect(refused).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(
        /this role is not allowed to do \(.*migrationSql\({ schema: 'test_/,
      ),
    })
  })
})

describe('SQL for others to run', () => {
  test('it makes the same schema', async () => {
    await using database = await testSchema()
    await using other = await testSchema()
    await migrate(await other.connect(), other.schema)

    await database.query(migrationSql({ schema: database.schema }))

    expect(await applied(database)).toEqual(await applied(other))
    expect(await manifestOf(database)).toBe(await manifestOf(other))
  })

  test('it makes the same outboxes, beside workflows and beside each other', async () => {
    await using database = await testSchema()
    await using other = await testSchema()
    const session = await other.connect()
    await migrate(session, other.schema)
    for (const prefix of ['outbox', 'outbox_messages']) {
      await migrate(session, other.schema, outboxFiles(prefix))
    }

    const sql = migrationSql({ schema: database.schema, outbox: ['outbox', 'outbox_messages'] })
    await database.query(sql)
    await database.query(sql)

    expect(await applied(database)).toEqual(await applied(other))
    expect(await manifestOf(database)).toBe(await manifestOf(other))
  })

  test('an outbox is refused where its tables would replace others', async () => {
    await using database = await testSchema()
    await database.query(migrationSql({ schema: database.schema }))
    await database.query(`create table "${database.schema}".outbox_topics (name text)`)

    const client = await database.connect()
    const refused = client.query(migrationSql({ schema: database.schema, outbox: ['outbox'] }))

    await expect(refused).rejects.toThrow('table "outbox_topics"')
    await client.query('rollback')
  })

  test('it prints nothing if all is well, and leaves the session as it was', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    await client.query('set client_min_messages to log')
    const notices: string[] = []
    client.on('notice', ({ message }) => notices.push(message ?? ''))

    await client.query(migrationSql({ schema: database.schema }))
    await client.query(migrationSql({ schema: database.schema }))

    expect(notices).toEqual([])
    expect((await client.query('show client_min_messages')).rows).toEqual([
      { client_min_messages: 'log' },
    ])
  })

  test('after it a role that may create nothing can open and use the store', async () => {
    await using database = await testSchema('we ird')
    await database.query(migrationSql({ schema: database.schema }))
    await using role = await roleFor(database)
    const store = postgresWorkflowStore({ source: { url: role.url }, schema: database.schema })

    await store.open()
    const registered = await store.register({
      leaseMs: 1_000,
      info: '',
      workflows: [{ name: 'order', version: '1' }],
    })
    await store.close()

    expect(registered.workflows).toEqual([1])
  })

  test('it can be run again, and brings an older schema up to date', async () => {
    await using database = await testSchema()
    const { schema } = database
    const older = { ...SHIPPED, migrations: MIGRATIONS.slice(0, 3), procedures: [] }
    await migrate(await database.connect(), schema, older)

    await database.query(migrationSql({ schema }))
    await database.query(migrationSql({ schema }))

    await database.query(`set search_path to ${quoted(schema)}`)
    const state = schemaState(await readApplied(await database.connect(), schema), schema, SHIPPED)
    expect(state).toEqual({ kind: 'behind', missing: [] })
  })

  test('it refuses a schema of a newer version', async () => {
    await using database = await testSchema()
    await migrate(await database.connect(), database.schema, FILES)

    const sql = sqlFor(database.schema, { ...FILES, migrations: [], version: '0.9.0' })
    const client = await database.connect()

    await expect(client.query(sql)).rejects.toThrow(
      'upgraded by a newer version of Holdfast: migrations/0001_numbers',
    )
  })

  test('it does not put its procedures in the place of newer ones', async () => {
    await using database = await testSchema()
    const { schema } = database
    await migrate(await database.connect(), schema, { ...FILES, version: '0.10.0' })
    const client = await database.connect()

    const older = client.query(sqlFor(schema, { ...FILES, version: '0.9.0' }))
    await expect(older).rejects.toThrow('upgraded by version 0.10.0 of Holdfast, this is')
    await client.query('rollback')

    await client.query(sqlFor(schema, { ...FILES, version: '0.10.0' }))
    await client.query(sqlFor(schema, { ...FILES, version: '0.11.0-beta.1' }))
  })
})

/** A role that may use the tables of a schema and create nothing. */
async function roleFor(database: TestSchema) {
  const role = `user_${randomBytes(6).toString('hex')}`
  const schema = quoted(database.schema)
  await database.query(`create role ${role} login`)
  await database.query(`grant usage on schema ${schema} to ${role}`)
  await database.query(
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
  )
  await database.query(`grant usage, update on all sequences in schema ${schema} to ${role}`)
  const url = new URL(database.url)
  url.username = role
  const clients: Client[] = []
  return {
    url: url.href,
    async connect() {
      const client = new Client({ connectionString: url.href })
      clients.push(client)
      await client.connect()
      return client
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.end()))
      await database.query(`drop owned by ${role}`)
      await database.query(`drop role ${role}`)
    },
  }
}

/** Until the server shows a session of which this is true. */
async function untilSeen(database: TestSchema, condition: string): Promise<void> {
  const sql = `select 1 from pg_stat_activity where ${condition}`
  while ((await database.query(sql)).length === 0);
}
