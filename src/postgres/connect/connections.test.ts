import { Pool, types } from 'pg'
import { expect, test } from 'vitest'

import { testSchema } from '../../../test/support/postgres.ts'
import {
  batch,
  commitTurns,
  item,
  openStore,
  start,
  startOwned,
  turn,
} from '../../../test/support/postgres-store.ts'
import { startPostgres } from '../../../test/support/postgres-server.ts'
import type { PgClient, PgPool } from './driver.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

test('a call on a connection that was cut fails, and the next one connects anew', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  const blocker = await database.connect()
  await blocker.query('begin')
  await blocker.query('select pg_advisory_xact_lock(lock_space(), $1)', [runtime.runtime])

  const cut = commitTurns(store, runtime, [item(iid, { turn: turn(2) })]).catch(
    (error: unknown) => error,
  )
  await terminate(database)
  const outcome = await cut
  await blocker.query('rollback')

  expect(outcome).toMatchObject({ name: 'StoreError', code: 'connection_lost', retryable: true })
  expect(await commitTurns(store, runtime, [item(iid, { turn: turn(2) })])).toEqual(['done'])
})

test('connections that were cut while idle are replaced silently', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  await store.reserve(1)
  const pids = await ours(database)
  await database.query('select pg_terminate_backend(pid) from unnest($1::int[]) as p (pid)', [pids])

  // The end of the connection may arrive before the call or during it; the second call is past it
  // either way.
  await store.reserve(1).catch(() => {})

  await expect(store.reserve(1)).resolves.toBeGreaterThan(0)
})

test('a commit whose answer was lost is recognised when it is sent again', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 2 })
  let loseAnswers = false
  const lossy = losingPool(pool, () => loseAnswers)
  const store = postgresWorkflowStore({ source: { pool: lossy }, schema: database.schema })
  await store.open()
  const runtime = await store.register({
    leaseMs: 30_000,
    info: '',
    workflows: [{ name: 'order', version: '1' }],
  })
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  const other = await store.reserve(1)
  const last = batch(runtime, {
    starts: [start(runtime, other)],
    turns: [
      item(iid, {
        turn: turn(2),
        next: { kind: 'end', end: { status: 'completed', output: '1' } },
      }),
    ],
  })

  loseAnswers = true
  const lost = await store.commit(last).catch((error: unknown) => error)
  loseAnswers = false
  const again = await store.commit(last)
  await store.close()
  await pool.end()

  expect(lost).toMatchObject({ code: 'connection_lost' })
  expect(again).toMatchObject({ state: 'ok', starts: ['done'], turns: ['done'] })
  expect(await database.query('select count(*)::int as n from history')).toEqual([{ n: 3 }])
})

test('a pool of the user stays open, and no connection is kept', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  const store = postgresWorkflowStore({
    source: { pool: pool as unknown as PgPool },
    schema: database.schema,
  })
  await store.open()

  await store.close()

  expect(pool.idleCount).toBe(1)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await pool.end()
})

test('type parsers that the process has set do not affect the store', async () => {
  await using opened = await openStore()
  const before = types.getTypeParser(types.builtins.INT8)
  types.setTypeParser(types.builtins.INT8, () => {
    throw new Error('not for us')
  })
  try {
    await expect(opened.store.reserve(1)).resolves.toBe(1)
  } finally {
    types.setTypeParser(types.builtins.INT8, before)
  }
})

test('a closed store refuses every call', async () => {
  await using opened = await openStore()
  await opened.store.close()

  await expect(opened.store.reserve(1)).rejects.toMatchObject({ code: 'closed' })
  await expect(opened.store.open()).rejects.toMatchObject({ code: 'closed' })
  await expect(opened.store.close()).resolves.toBeUndefined()
})

test('opening again is harmless, even when it failed before', async () => {
  await using database = await testSchema()
  const store = postgresWorkflowStore({
    source: { url: database.url },
    schema: database.schema,
  })
  const lock = await database.connect()
  await lock.query(`create schema "${database.schema}"`)
  await lock.query(`create table holdfast_migrations (name text, checksum text)`)
  await lock.query(`insert into holdfast_migrations values ('migrations/9999_future', '')`)
  await expect(store.open()).rejects.toMatchObject({ code: 'newer_schema' })
  await lock.query('drop table holdfast_migrations')

  await Promise.all([store.open(), store.open()])
  await store.open()
  await store.close()
})

test('no server at the address is connection_lost, a wrong database misconfigured', async () => {
  const nobody = postgresWorkflowStore({
    source: { url: 'postgres://holdfast@127.0.0.1:1/postgres' },
    schema: 'x',
  })
  await using database = await testSchema()
  const url = new URL(database.url)
  url.pathname = '/no_such_database'
  const wrong = postgresWorkflowStore({ source: { url: url.href }, schema: 'x' })

  await expect(nobody.open()).rejects.toMatchObject({ code: 'connection_lost' })
  await expect(wrong.open()).rejects.toMatchObject({ code: 'misconfigured' })
  await Promise.all([nobody.close(), wrong.close()])
})

test.each([
  ['a NUL', 'a\0b'],
  ['the separator', 'a\x01b'],
])('a text with %s is rejected, and the store continues', async (_, events) => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [a, b] = (await startOwned(store, runtime, 2)) as [number, number]

  const poisoned = commitTurns(store, runtime, [
    item(a, { turn: turn(2) }),
    item(b, { turn: turn(2, { events }) }),
  ])

  await expect(poisoned).rejects.toMatchObject({ code: 'rejected', retryable: false })
  expect(await commitTurns(store, runtime, [item(a, { turn: turn(2) })])).toEqual(['done'])
})

test('a text too long for the server is rejected before it is sent', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  const events = 'x'.repeat(2 ** 28 + 1)

  const huge = commitTurns(store, runtime, [item(iid, { turn: turn(2, { events }) })])

  await expect(huge).rejects.toMatchObject({ code: 'rejected' })
})

test('an id too long for an index is rejected', async () => {
  await using opened = await openStore()
  const runtime = await opened.runtime()
  const noise = Array.from({ length: 4000 }, () => Math.random().toString(36)[3]).join('')

  const started = opened.store.commit(
    batch(runtime, { starts: [start(runtime, 1, { id: noise })] }),
  )

  await expect(started).rejects.toMatchObject({ code: 'rejected' })
})

test('after a restart of the server the next commit is asked to verify', async () => {
  const server = await startPostgres()
  const store = postgresWorkflowStore({ source: { url: server.url }, schema: 'holdfast' })
  try {
    await store.open()
    const runtime = await store.register({
      leaseMs: 30_000,
      info: '',
      workflows: [{ name: 'order', version: '1' }],
    })
    const [iid] = (await startOwned(store, runtime, 1)) as [number]
    const next = batch(runtime, { turns: [item(iid, { turn: turn(2) })] })
    await server.stop('immediate')
    const down = await store.commit(next).catch((error: unknown) => error)
    await server.start()

    // A connection that was cut may be noticed only when it is used.
    const answer = await store.commit(next).catch(() => store.commit(next))
    const { server: identity, same } = await store.verify(runtime.runtime, [
      { iid, epoch: 1, execution: 1, turn: 1 },
      { iid, epoch: 1, execution: 1, turn: 2 },
    ])
    const verified = await store.commit({ ...next, server: identity })

    expect(down).toMatchObject({ code: 'connection_lost' })
    expect(answer).toMatchObject({ state: 'verify', server: identity })
    expect(same).toEqual([true, false])
    expect(verified).toMatchObject({ state: 'ok', turns: ['done'] })
  } finally {
    await store.close()
    await server.remove()
  }
})

/** A pool whose commits arrive and whose answers do not. */
function losingPool(pool: Pool, losing: () => boolean): PgPool {
  return {
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    end: () => pool.end(),
    async connect() {
      const client = (await pool.connect()) as unknown as PgClient
      const lossy: PgClient = {
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
        release: (destroy) => client.release(destroy),
        async query(statement) {
          const result = await client.query(statement)
          if (losing()) throw Object.assign(new Error('read'), { code: 'ECONNRESET' })
          return result
        },
      }
      return lossy
    },
  }
}

interface Database {
  readonly schema: string
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
}

/** Connections whose last statement was on this schema, except the test's own. */
async function ours(database: Database): Promise<number[]> {
  const rows = await database.query<{ pid: number }>(
    `select pid from pg_stat_activity
    where application_name = 'holdfast' and query like '%' || $1 || '%'`,
    [database.schema],
  )
  return rows.map(({ pid }) => pid)
}

/** Ends the connection that waits for an advisory lock of this schema. */
async function terminate(database: Database): Promise<void> {
  for (;;) {
    const rows = await database.query(
      `select pg_terminate_backend(pid)
      from pg_locks join pg_stat_activity using (pid)
      where not granted and locktype = 'advisory' and query like '%' || $1 || '%'`,
      [database.schema],
    )
    if (rows.length > 0) return
  }
}

test('any number of stores on one pool listen to it and its connections once, and leave nothing', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 2 })
  const settings = { source: { pool: pool as unknown as PgPool }, schema: database.schema }
  const counts = (): number[] => ['error', 'connect'].map((event) => pool.listenerCount(event))
  const before = counts()
  const stores = Array.from({ length: 12 }, () => postgresWorkflowStore(settings))
  const one = counts().map((count, i) => count - before[i]!)
  const connection = await pool.connect()
  const onConnection = connection.listenerCount('error')
  connection.release()

  await Promise.all(stores.slice(1).map((store) => store.close()))
  const stillOne = counts().map((count, i) => count - before[i]!)
  await stores[0]!.close()

  expect([one, stillOne]).toEqual([
    [1, 1],
    [1, 1],
  ])
  expect(onConnection).toBeLessThanOrEqual(2)
  expect(counts()).toEqual(before)
  await pool.end()
})
