import { hostname } from 'node:os'
import { Client, Pool } from 'pg'
import { describe, expect, test } from 'vitest'

import { systemClock } from '../../src/base/time/clock.ts'
import { VERSION } from '../../src/base/version.ts'
import { open, workflow } from '../../src/index.ts'
import { checkClock, doctor } from '../../src/postgres/doctor/doctor.ts'
import { FILES } from '../../src/postgres/schema/schema-state.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgres } from '../../src/postgres/store.ts'
import { effects, message } from '../../src/testing/contract/items.ts'
import { newTask } from '../../src/testing/contract/task-items.ts'
import { eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { batch, openStore, start, startOwned } from '../support/postgres-store.ts'
import { about, findings, only } from './findings.ts'

// Each finding with what brings it about, on the server that all tests share: sessions of other
// tests may be named, too.

describe('a schema in order', () => {
  test('everything is checked, and nothing is wrong', async () => {
    await using opened = await openStore()
    await opened.runtime()

    const { url, schema } = opened.database

    const found = await doctor({ url, schema })

    expect(found.filter(({ level }) => level === 'error')).toEqual([])
    expect(new Set(found.map(({ what }) => what))).toEqual(
      expect.objectContaining(
        new Set(['settings', 'connections', 'hints', 'indexes', 'migrations', 'clock', 'bloat']),
      ),
    )
    for (const what of ['settings', 'indexes', 'bloat', 'migrations', 'clock', 'instances']) {
      expect(only(found, what)).toMatchObject({ level: 'ok', fix: '' })
    }
    expect(only(found, 'hints', 'reached this process')).toMatchObject({ level: 'ok' })
  })

  test('the worst comes first', async () => {
    await using opened = await openStore()
    await opened.database.query('drop index runs_due')

    const levels = (await findings(opened.database)).map(({ level }) => level)

    const order = ['error', 'warning', 'note', 'ok']
    expect(levels).toEqual(levels.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
    expect(levels[0]).toBe('error')
  })

  test('the function of the schema reports the same as the API, except for what only a process can test', async () => {
    await using opened = await openStore()
    await opened.database.query('drop index runs_due')

    const told = await opened.database.query<{ what: string }>('select * from doctor()')

    const known = (await findings(opened.database)).filter(
      ({ what, detail }) => !['clock', 'migrations'].includes(what) && !detail.includes('notify'),
    )
    expect(kinds(told)).toEqual(kinds(known))
  })

  test('an option that does not exist is refused', async () => {
    const wrong = { shcema: 'shop' } as object

    await expect(doctor(wrong)).rejects.toThrow('unknown option "shcema", did you mean "schema"?')
  })
})

describe('transactions that hold vacuum back', () => {
  test('an idle transaction with a snapshot is named, with its last statement and the cure', async () => {
    await using opened = await openStore()
    const client = await opened.database.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select count(*) /* forgotten */ from runs')
    const pid = await pidOf(client)

    const found = only(
      await findings(opened.database, { longTransaction: 0 }),
      'vacuum',
      `session ${pid} `,
    )

    expect(found.level).toBe('warning')
    expect(found.detail).toMatch(/is idle in a transaction .* no row that was deleted since can/)
    expect(found.fix).toContain(`pg_terminate_backend(${pid})`)
    expect(found.fix).toContain('idle_in_transaction_session_timeout')
  })

  test('a long statement is named, cut short', async () => {
    await using opened = await openStore()
    const client = await opened.database.connect()
    const pid = await pidOf(client)
    const query = `select pg_sleep(60), '${'long '.repeat(100)}'`
    const ended = client.query(query).catch(() => {})
    await untilActive(opened.database, pid)

    const found = only(
      await findings(opened.database, { longTransaction: 0 }),
      'vacuum',
      `session ${pid} `,
    )
    await opened.database.query('select pg_cancel_backend($1)', [pid])
    await ended

    expect(found).toMatchObject({ level: 'warning', fix: `select pg_terminate_backend(${pid})` })
    expect(found.detail).toContain('has had a transaction open')
    expect(found.detail).toContain(query.slice(0, 100))
    expect(found.detail).not.toContain(query.slice(0, 101))
  })

  test('an idle transaction without a snapshot holds only locks', async () => {
    await using opened = await openStore()
    const client = await opened.database.connect()
    await client.query('begin')
    await client.query('lock table runs in share mode')
    const pid = await pidOf(client)

    const found = await findings(opened.database, { longTransaction: 0 })

    expect(only(found, 'transactions', `session ${pid} `)).toMatchObject({ level: 'note' })
    expect(about(found, 'vacuum', `session ${pid} `)).toEqual([])
  })

  test('recent transactions are not named', async () => {
    await using opened = await openStore()
    const client = await opened.database.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select count(*) from runs')
    const pid = await pidOf(client)

    const found = await findings(opened.database, { longTransaction: '1h' })

    expect(about(found, 'vacuum', `session ${pid} `)).toEqual([])
  })
})

describe('tables and indexes', () => {
  test('a missing index is named', async () => {
    await using opened = await openStore()
    await opened.database.query('drop index runs_due')

    const found = only(await findings(opened.database), 'indexes')

    expect(found).toMatchObject({ level: 'error', detail: 'the index runs_due is missing' })
  })

  test('an index whose building failed is named', async () => {
    await using opened = await openStore()
    const { database } = opened
    await database.query('drop index inbox_results')
    await database.query(`insert into inbox (iid, kind, execution, command, payload)
      values (1, 1, 1, 1, ''), (1, 1, 1, 1, '')`)
    const build = `create unique index concurrently inbox_results
      on inbox (iid, execution, command) where command is not null`
    await expect(database.query(build)).rejects.toMatchObject({ code: '23505' })

    const found = only(await findings(database), 'indexes')

    expect(found.detail).toContain('inbox_results cannot be used')
    expect(found.fix).toBe(`reindex index concurrently ${database.schema}.inbox_results`)
  })

  test('no index of the schema is left out', async () => {
    await using opened = await openStore()
    const { database } = opened
    const indexes = await database.query<{ name: string }>(
      `select c.relname as name from pg_index as i join pg_class as c on c.oid = i.indexrelid
      where c.relnamespace = $1::regnamespace and c.relname <> 'holdfast_migrations_pkey'
      order by c.relname`,
      [quoted(database.schema)],
    )
    // With nothing left, all that is looked for is missing.
    for (const table of await tablesOf(database)) {
      await database.query(`drop table ${table} cascade`)
    }

    const missing = about(await database.query('select * from doctor_indexes()'), 'indexes').map(
      ({ detail }) => /the index (\w+) is missing/.exec(detail)?.[1],
    )

    expect(missing).toEqual(indexes.map(({ name }) => name))
  })

  test('dead rows that autovacuum has not removed are counted, with the reason', async () => {
    await using opened = await openStore()
    const { database } = opened
    await database.query('alter table state set (autovacuum_enabled = off)')
    const writer = await database.connect()
    await writer.query(`insert into state (iid, key, value)
      select i, 'k', 'v' from generate_series(1, 20000) as i`)
    await writer.query('delete from state')
    // The counters of a connection become visible to others when it ends, or some ten seconds
    // later.
    await writer.end()

    let found = await findings(database)
    while (about(found, 'bloat', 'the table state').length === 0) found = await findings(database)

    expect(only(found, 'bloat', 'the table state')).toMatchObject({
      level: 'warning',
      detail: expect.stringMatching(/has 20000 dead rows .* last ran never/),
    })
    expect(only(found, 'autovacuum')).toMatchObject({
      level: 'warning',
      detail: 'autovacuum is off for the table state',
      fix: `alter table ${database.schema}.state reset (autovacuum_enabled)`,
    })
  })
})

describe('the schema beside this version', () => {
  test('a missing schema is an error, and the server is still checked', async () => {
    await using database = await testSchema()

    const found = await findings(database)

    expect(only(found, 'migrations')).toMatchObject({
      level: 'error',
      detail: expect.stringMatching(/is not up to date: migrations\/0001_instances.* missing/),
    })
    expect(only(found, 'settings')).toMatchObject({ level: 'ok' })
  })

  test('a schema of an earlier version lacks migrations', async () => {
    await using database = await testSchema()
    const older = { ...FILES, migrations: FILES.migrations.slice(0, -1), procedures: [] }
    await migrate(await database.connect(), database.schema, older)

    const found = only(await findings(database), 'migrations')

    expect(found.level).toBe('error')
    expect(found.detail).toContain(FILES.migrations.at(-1)!.name)
    expect(found.fix).toContain('migrationSql()')
  })

  test.each([
    ['that works with this one', FILES.migrations.at(-1)!.name.slice(11, 15), 'note'],
    ['that does not', undefined, 'error'],
  ])('a schema of a newer version %s is reported', async (_, worksWith, level) => {
    await using opened = await openStore()
    const { database } = opened
    const next = { name: 'migrations/9999_next', checksum: 'a', sql: 'select 1' }
    await migrate(await database.connect(), database.schema, {
      ...FILES,
      migrations: [...FILES.migrations, { ...next, ...(worksWith && { worksWith }) }],
      version: '99.0.0',
    })

    const found = only(await findings(database), 'migrations')

    expect(found.level).toBe(level)
    expect(found.detail).toContain('99.0.0')
  })
})

describe('processes', () => {
  test.each([
    ['ahead of', 5_000],
    ['behind', -5_000],
  ])('a clock that is %s the server is reported', async (words, skewMs) => {
    await using database = await testSchema()
    const clock = { ...systemClock(), date: () => new Date(Date.now() + skewMs) }

    const found = await checkClock(await database.connect(), clock)

    expect(found.level).toBe('warning')
    expect(found.detail).toMatch(new RegExp(`is (49|50)\\d\\d ms ${words} the server's`))
  })

  test('runtimes of several versions are named, each with its place', async () => {
    await using opened = await openStore()
    const { store } = opened
    for (const info of ['web-1 17 0.1.0', 'web-2 18 0.1.0', 'web-3 19 0.2.0']) {
      await store.register({ leaseMs: 30_000, info, workflows: [] })
    }

    const found = only(await findings(opened.database), 'runtimes')

    expect(found).toMatchObject({
      level: 'note',
      detail: '3 runtimes are alive, of 2 versions: 0.1.0: web-1 17, web-2 18; 0.2.0: web-3 19',
      fix: expect.stringContaining('finish the upgrade'),
    })
  })

  test('a runtime is shown with its machine, its process and its version, and listens', async () => {
    await using database = await testSchema()
    const { url, schema } = database
    const job = workflow('job', async () => {})
    await using runtime = await open(postgres({ url, schema }), { register: job })
    await eventually(() => runtime.health().hints.state === 'listening')

    const found = await findings(database)

    expect(only(found, 'runtimes').detail).toBe(
      `1 runtimes are alive, of version ${VERSION}: ${hostname()} ${process.pid}`,
    )
    expect(only(found, 'hints', 'sessions of this database listen').detail).toMatch(/^[1-9]/)
  })

  test('a dead runtime without a takeover is named', async () => {
    await using opened = await openStore()
    await opened.runtime(1_000)
    await opened.setClock(Date.now() + 120_000)

    const found = await findings(opened.database)

    expect(only(found, 'runtimes', 'no runtime is alive')).toMatchObject({ level: 'note' })
    expect(only(found, 'runtimes', 'has taken over')).toMatchObject({ level: 'warning' })
  })

  test('a pooler that swallows notifications is noticed', async () => {
    await using opened = await openStore()
    const pool = new Pool({ connectionString: opened.database.url, Client: DeafClient })

    const found = await doctor({ pool, schema: opened.database.schema })
    await pool.end()

    expect(only(found, 'hints', 'did not reach this process')).toMatchObject({
      level: 'warning',
      fix: expect.stringContaining('listenUrl'),
    })
  })

  test('a listenUrl that leads nowhere is reported, with everything else', async () => {
    await using opened = await openStore()
    const { url, schema } = opened.database

    const found = await doctor({ url, schema, listenUrl: 'postgres://nobody@127.0.0.1:1/none' })

    expect(only(found, 'hints', 'cannot open a connection')).toMatchObject({
      level: 'warning',
      detail: expect.stringContaining('ECONNREFUSED'),
      fix: expect.stringContaining('listenUrl'),
    })
    expect(only(found, 'indexes')).toMatchObject({ level: 'ok' })
  })

  test('so is a pool without a free connection to test it', async () => {
    await using opened = await openStore()
    const { url, schema } = opened.database
    const pool = new Pool({ connectionString: url, max: 2 })
    const inUse = await pool.connect()

    const found = await doctor({ pool, schema })
    inUse.release()
    await pool.end()

    expect(only(found, 'hints', 'cannot open a connection')).toMatchObject({
      level: 'warning',
      detail: expect.stringContaining('no answer within 3000 ms'),
    })
    expect(only(found, 'indexes')).toMatchObject({ level: 'ok' })
  })

  test('notifications that are switched off are reported', async () => {
    await using opened = await openStore()

    const found = await findings(opened.database)

    expect(only(found, 'hints', "notify is 'off'")).toMatchObject({ level: 'note' })
  })
})

describe('instances', () => {
  test('suspended ones are counted, and some are named', async () => {
    await using opened = await openStore()
    const runtime = await opened.runtime()
    await startOwned(opened.store, runtime, 4)
    await opened.store.suspend(['order-1', 'order-2', 'order-3', 'order-4'], '"why"')

    const found = only(await findings(opened.database), 'instances', 'suspended')

    expect(found).toMatchObject({
      level: 'warning',
      detail: "4 instances are suspended, including 'order-1', 'order-2', 'order-3'",
    })
  })

  test('due instances whose code no runtime has are reported by workflow', async () => {
    await using opened = await openStore()
    const { store } = opened
    const runtime = await opened.runtime()
    const [other] = await store.workflowNumbers([{ name: 'orphan', version: '2.0.0' }])
    await store.start([
      start(runtime, 1, { owned: false, wakeAt: 0 }),
      start(runtime, 2, { owned: false, wakeAt: 0, workflow: other! }),
    ])

    const found = only(await findings(opened.database), 'instances')

    expect(found.level).toBe('warning')
    expect(found.detail).toMatch(/^1 instances of workflow orphan, version 2.0.0, are due/)
  })

  test('messages for ids that were never started are reported, once they have waited for an hour', async () => {
    await using opened = await openStore()
    const iid = await opened.store.reserve(1)
    await opened.store.post([message('nobody', '1', { iid })])

    const early = only(await findings(opened.database), 'instances')
    await opened.setClock(Date.now() + 3_700_000)
    const late = only(await findings(opened.database), 'instances')

    expect(early).toMatchObject({ level: 'ok' })
    expect(late).toMatchObject({
      level: 'note',
      detail: "messages wait for 1 ids that were never started, including 'nobody'",
    })
  })

  test('tasks whose code no runtime has are reported by activity', async () => {
    await using opened = await openStore()
    const runtime = await opened.runtime()
    const asking = effects({ tasks: [newTask(1, { activity: 'resize' })] })
    await opened.store.commit(batch(runtime, { starts: [start(runtime, 1, { effects: asking })] }))

    const found = only(await findings(opened.database), 'instances')

    expect(found.detail).toMatch(/^1 tasks of activity resize wait/)
  })
})

describe('little privilege', () => {
  test('a role that may only use the schema learns what it can, and what it may not see', async () => {
    await using opened = await openStore()
    const { database } = opened
    const role = `doctor_${database.schema}`
    await database.query(`create role ${role} login`)
    await database.query(`grant usage on schema ${database.schema} to ${role}`)
    const url = new URL(database.url)
    url.username = role

    const found = await findings({ url: url.href, schema: database.schema })
    await database.query(`drop owned by ${role}`)
    await database.query(`drop role ${role}`)

    expect(only(found, 'privileges', 'not allowed to read the tables').fix).toContain(
      'grant select on',
    )
    expect(only(found, 'privileges', 'sessions of other roles').fix).toContain('pg_read_all_stats')
    expect(only(found, 'indexes')).toMatchObject({ level: 'ok' })
    expect(only(found, 'connections')).toMatchObject({ level: 'ok' })
    expect(only(found, 'vacuum').detail).toBe('nothing that this role can see holds vacuum back')
  })
})

/** A connection as it is behind a pooler in transaction mode: LISTEN is taken, and forgotten. */
class DeafClient extends Client {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    return event !== 'notification' && super.emit(event, ...args)
  }
}

/** What findings are about, apart from migrations, of which a process can say more. */
function kinds(list: readonly { readonly what: string }[]): string[] {
  const all = list.map(({ what }) => what)
  return all.filter((what) => what !== 'migrations').toSorted()
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

/** Until the server says so of a session. */
async function untilActive(database: TestSchema, pid: number): Promise<void> {
  const sql = `select 1 from pg_stat_activity
    where pid = $1 and state = 'active' and backend_xmin is not null`
  while ((await database.query(sql, [pid])).length === 0);
}

async function tablesOf(database: TestSchema): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `select relname as name from pg_class
    where relnamespace = $1::regnamespace and relkind = 'r' and relname <> 'holdfast_migrations'`,
    [quoted(database.schema)],
  )
  return rows.map(({ name }) => name)
}
