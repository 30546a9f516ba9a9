import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { doctor } from '../../src/postgres/doctor/doctor.ts'
import type { Finding } from '../../src/postgres/doctor/finding.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { type Standby, startStandby } from '../trouble/standby.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { about, findings, only } from './findings.ts'

// Findings that need a server of their own, which may be ill.

const SCHEMA = 'holdfast'

describe('a server with unsafe settings', () => {
  const place = ownServer([
    'fsync=off',
    'full_page_writes=off',
    'autovacuum=off',
    'max_connections=20',
    'max_prepared_transactions=2',
    'wal_level=logical',
    'max_notify_queue_pages=64',
  ])

  test.each([
    ['fsync', /^fsync is "off": acknowledged work is lost in a power failure/],
    ['full_page_writes', /^full_page_writes is "off": a crash of the machine can damage tables/],
    ['autovacuum', /^autovacuum is "off": nothing removes deleted rows/],
  ])('%s is named, with the fix', async (setting, detail) => {
    const found = only(await findings(place.at), 'settings', `${setting} is`)

    expect(found.level).toBe('error')
    expect(found.detail).toMatch(detail)
    expect(found.fix).toContain(`set ${setting} = on`)
  })

  test.each([
    ['synchronous_commit', 'off', /acknowledged work can be lost in a crash/],
    ['default_transaction_isolation', "'repeatable read'", /a stale owner/],
    ['default_transaction_read_only', 'on', /nothing can be written here/],
  ])('a role with %s = %s is named', async (setting, value, detail) => {
    await using admin = await place.admin()
    await admin.query(`create role careless login`)
    await admin.query(`alter role careless set ${setting} = ${value}`)
    const url = new URL(place.at.url)
    url.username = 'careless'
    await admin.query(`grant usage on schema ${SCHEMA} to careless`)

    // Connections of our own would set the isolation right by themselves.
    const pool = new Pool({ connectionString: url.href })

    const found = only(
      await doctor({ pool, schema: SCHEMA, notify: 'off' }),
      'settings',
      `${setting} is`,
    )
    await pool.end()
    await admin.query('drop owned by careless')
    await admin.query('drop role careless')

    expect(found.level).toBe('error')
    expect(found.detail).toMatch(detail)
    expect(found.fix).toMatch(/^alter role careless (set|reset) /)
  })

  test('connections that are nearly used up are counted', async () => {
    const few = only(await findings(place.at), 'connections')
    const clients: Client[] = []
    for (let n = 0; n < 13; n++) clients.push(await connected(place.at.url))

    const many = only(await findings(place.at), 'connections')
    await Promise.all(clients.map((client) => client.end()))

    expect(few.level).toBe('ok')
    expect(many.level).toMatch(/^(warning|error)$/)
    expect(many.detail).toMatch(/^1\d of 17 connections of the server are in use/)
  })

  test('connections of other roles count, even for a role that may not see their queries', async () => {
    await using admin = await place.admin()
    await admin.query('create role lowly login')
    await admin.query(`grant usage on schema ${SCHEMA} to lowly`)
    const url = new URL(place.at.url)
    url.username = 'lowly'
    const clients: Client[] = []
    for (let n = 0; n < 13; n++) clients.push(await connected(place.at.url))

    const many = only(await findings({ ...place.at, url: url.href }), 'connections')
    await Promise.all(clients.map((client) => client.end()))
    await admin.query('drop owned by lowly')
    await admin.query('drop role lowly')

    expect(many.detail).toMatch(/^1\d of 17 connections of the server are in use/)
    expect(many.level).toMatch(/^(warning|error)$/)
  })

  test('a prepared transaction that is never ended is named', async () => {
    await using admin = await place.admin()
    await admin.query('begin')
    await admin.query(`create table ${SCHEMA}.forgotten ()`)
    await admin.query(`prepare transaction 'half-way'`)

    const found = only(await findings(place.at, { longTransaction: 0 }), 'vacuum', 'half-way')
    await admin.query(`rollback prepared 'half-way'`)

    expect(found.level).toBe('warning')
    expect(found.fix).toContain(`rollback prepared 'half-way'`)
  })

  test('replication slots that are not read are named, with what they keep', async () => {
    await using admin = await place.admin()
    await admin.query(`select pg_create_physical_replication_slot('old_standby', true)`)
    await admin.query(`select pg_create_logical_replication_slot('old_reader', 'pgoutput')`)

    const found = await findings(place.at)
    await admin.query(`select pg_drop_replication_slot(slot_name) from pg_replication_slots`)

    expect(only(found, 'disk', 'old_standby')).toMatchObject({
      level: 'warning',
      fix: expect.stringContaining(`pg_drop_replication_slot('old_standby')`),
    })
    expect(only(found, 'vacuum', 'old_reader').detail).toMatch(
      /the logical replication slot old_reader, which keeps catalog rows from \d+ transactions ago/,
    )
  })

  test('a queue of notifications that fills up is reported', async () => {
    await using listener = await place.admin()
    await using admin = await place.admin()
    await listener.query('listen anything')
    await listener.query('begin')
    await listener.query('select 1')
    const notify = `select pg_notify('anything', repeat('x', 7000) || i)
      from generate_series(1, 30) as i`
    await admin.query(notify)

    const found = only(await findings(place.at), 'hints', 'the notification queue')
    await listener.query('rollback')

    expect(found.level).toMatch(/^(warning|error)$/)
    expect(found.detail).toMatch(/is \d\d % full/)
  })
})

describe('a standby', () => {
  const place = ownServer([])
  let standby: Standby
  beforeAll(async () => {
    standby = await startStandby(place.server)
  }, 60_000)
  afterAll(() => standby.remove())
  const standbyUrl = (): string => {
    const url = new URL(place.at.url)
    url.port = String(standby.port)
    return url.href
  }

  test('it can be checked as well, and is reported as read-only', async () => {
    const found = await doctor({ url: standbyUrl(), schema: SCHEMA })

    expect(about(found, 'settings')).toEqual([
      {
        level: 'note',
        what: 'settings',
        detail: 'this server is a standby: nothing can be written here',
        fix: expect.stringContaining('the primary'),
      },
    ])
    expect(found.filter(({ level }) => level === 'error')).toEqual([])
    expect(only(found, 'indexes')).toMatchObject({ level: 'ok' })
    expect(only(found, 'hints', 'cannot be tested on a standby')).toMatchObject({ level: 'note' })
  })

  test.each([
    ['by its session', '', /^a standby \(standby, session \d+ of holdfast\) has queries that/],
    ['by its slot', 'follower', /^a standby \(replication slot follower\) has queries that/],
  ])(
    'its old snapshots are named on the primary, when it asks to keep what they need %s',
    { timeout: 60_000 },
    async (_, slot, detail) => {
      await using reader = await connected(standbyUrl())
      await using admin = await place.admin()
      if (slot !== '') await admin.query('select pg_create_physical_replication_slot($1)', [slot])
      await reader.query(`alter system set primary_slot_name = '${slot}'`)
      await reader.query('alter system set hot_standby_feedback = on')
      await reader.query(`alter system set wal_receiver_status_interval = '1s'`)
      await reader.query('select pg_reload_conf()')
      await reader.query('begin isolation level repeatable read')
      await reader.query('select 1')
      await admin.query('create table if not exists busy (n integer)')

      const named = async (): Promise<readonly Finding[]> =>
        about(await findings(place.at), 'vacuum', 'a standby')
      let found = await named()
      while (!found.some((finding) => detail.test(finding.detail))) {
        await admin.query(USE_UP_TRANSACTIONS)
        found = await named()
      }

      expect(found).toHaveLength(1)
      expect(found[0]!.level).toBe('warning')
      expect(found[0]!.fix).toContain('end the long queries on the standby')
    },
  )
})

/** Each block with an exception is a transaction in the other's way. */
const USE_UP_TRANSACTIONS = `do $$
begin
  for i in 1..20000 loop
    begin
      insert into busy values (i);
    exception when others then
      null;
    end;
  end loop;
end $$`

interface Place {
  readonly server: PostgresServer
  /** Where `doctor` looks. */
  readonly at: { readonly url: string; readonly schema: string }
  admin(): Promise<Client & AsyncDisposable>
}

/**
 * A server for the tests of a group, with a schema that no store has opened: it would be refused.
 */
function ownServer(settings: readonly string[]): Place {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres(settings)
    await using admin = await connected(server.url)
    await migrate(admin, SCHEMA)
  }, 60_000)
  afterAll(() => server.remove())
  return {
    get server() {
      return server
    },
    get at() {
      return { url: server.url, schema: SCHEMA }
    },
    admin: () => connected(server.url),
  }
}

async function connected(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
