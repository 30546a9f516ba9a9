import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'

import { type PostgresProxy, postgresProxy } from './postgres-proxy.ts'
import { eventually } from '../../../test/support/engine.ts'
import { postgresUrl, testSchema, type TestSchema } from '../../../test/support/postgres.ts'

// The proxy by itself, between a plain client and a real server.

async function connect({ url }: PostgresProxy): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  return client
}

/** A schema with a table `entries`. */
async function tableFor(): Promise<TestSchema & { readonly table: string }> {
  const database = await testSchema('proxy')
  await database.query(`create schema ${database.schema}`)
  await database.query(`create table entries (entry text)`)
  return { ...database, table: `${database.schema}.entries` }
}

test('it forwards all bytes, and counts them', async () => {
  await using proxy = await postgresProxy(postgresUrl())
  const client = await connect(proxy)
  const before = proxy.counts

  const { rows } = await client.query(`select repeat('x', 100000) as text`)
  await client.query('select 1')

  expect(rows).toEqual([{ text: 'x'.repeat(100_000) }])
  const { counts } = proxy
  expect(counts).toMatchObject({ connections: 1, open: 1, refused: 0 })
  expect(counts.roundTrips - before.roundTrips).toBe(2)
  expect(counts.bytesToClient - before.bytesToClient).toBeGreaterThan(100_000)
  expect(counts.bytesToServer - before.bytesToServer).toBeLessThan(1_000)
  await client.end()
  await eventually(() => proxy.counts.open === 0)
})

test('each direction has the requested delay, from that moment on', async () => {
  await using proxy = await postgresProxy(postgresUrl())
  const client = await connect(proxy)
  const took = async (): Promise<number> => {
    const begunMs = performance.now()
    await client.query('select 1')
    return performance.now() - begunMs
  }

  proxy.latency({ toServer: 40 })
  const one = await took()
  proxy.latency({ toClient: '80ms' })
  const both = await took()
  proxy.latency({ toServer: 0, toClient: 0 })
  await took()

  expect(one).toBeGreaterThanOrEqual(39)
  expect(both).toBeGreaterThanOrEqual(119)
})

test('a cut ends all connections, and the next one works', async () => {
  await using proxy = await postgresProxy(postgresUrl())
  const clients = [await connect(proxy), await connect(proxy)]
  const asleep = clients.map((client) => client.query('select pg_sleep(60)'))

  proxy.cut()
  const outcomes = await Promise.allSettled(asleep)

  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const next = await connect(proxy)
  await expect(next.query('select 1')).resolves.toBeDefined()
})

describe('a cut at a chosen point', () => {
  test.each([
    ['request', 0, false],
    ['answer', 1, false],
    ['after', 1, true],
  ] as const)('%s: of a single statement', async (at, rows, answered) => {
    await using database = await tableFor()
    await using proxy = await postgresProxy(database.url)
    const client = await connect(proxy)
    const other = await connect(proxy)

    const cut = proxy.cutOn({ text: 'insert into', at })
    await other.query('select 1')
    const outcome = client.query(`insert into ${database.table} values ('x')`).then(
      () => true,
      () => false,
    )
    await cut

    expect(await outcome).toBe(answered)
    expect(await database.query('select * from entries')).toHaveLength(rows)
    // It was for one connection, once.
    await eventually(() => proxy.counts.open === 1)
    await other.query(`insert into ${database.table} values ('y')`)
  })

  test.each([
    ['request', 0],
    ['answer', 1],
  ] as const)('%s: of the commit of a transaction', async (at, rows) => {
    await using database = await tableFor()
    await using proxy = await postgresProxy(database.url)
    const client = await connect(proxy)
    await client.query('begin')
    await client.query(`insert into ${database.table} values ('x')`)

    const cut = proxy.cutOn({ text: 'commit', at })
    const outcome = client.query('commit').catch((error: unknown) => error)
    await cut

    expect(await outcome).toBeInstanceOf(Error)
    expect(await database.query('select * from entries')).toHaveLength(rows)
  })

  test('answer: not before the server has done all of it, however long the answer is', async () => {
    await using database = await tableFor()
    await using proxy = await postgresProxy(database.url)
    const client = await connect(proxy)

    const cut = proxy.cutOn({ text: 'insert into', at: 'answer' })
    const outcome = client
      .query(
        `insert into ${database.table}
        select repeat('x', 1000) from generate_series(1, 2000) returning entry`,
      )
      .catch((error: unknown) => error)
    await cut

    expect(await outcome).toBeInstanceOf(Error)
    const [row] = await database.query('select count(*)::int as count from entries')
    expect(row).toEqual({ count: 2_000 })
  })

  test('a text is found even when it arrives in pieces', async () => {
    await using database = await tableFor()
    await using proxy = await postgresProxy(database.url)
    const client = await connect(proxy)

    const cut = proxy.cutOn({ text: 'needle' })
    // Longer than what a socket hands over at once.
    const hay = 'x'.repeat(200_000)
    const outcome = client.query(`select '${hay}needle${hay}'`).catch((error: unknown) => error)
    await cut

    expect(await outcome).toBeInstanceOf(Error)
  })

  test('bytes: right after that byte, in the middle of an answer', async () => {
    await using proxy = await postgresProxy(postgresUrl())
    const client = await connect(proxy)
    const before = proxy.counts

    const cut = proxy.cutOn({ bytes: 50_000 })
    const outcome = client.query(`select repeat('x', 100000)`).catch((error: unknown) => error)
    await cut

    expect(await outcome).toBeInstanceOf(Error)
    expect(proxy.counts.bytesToClient - before.bytesToClient).toBeGreaterThan(40_000)
    await eventually(() => proxy.counts.open === 0)
  })
})

test('new connections are refused while requested, and open ones stay', async () => {
  await using proxy = await postgresProxy(postgresUrl())
  const client = await connect(proxy)

  proxy.refuse()
  await expect(connect(proxy)).rejects.toThrow(/ECONNRESET|terminated/)
  await client.query('select 1')
  expect(proxy.counts).toMatchObject({ connections: 1, refused: 1 })
  proxy.mend()

  await expect(connect(proxy)).resolves.toBeDefined()
})

test('a stall holds all data and closes nothing, until it ends', async () => {
  await using proxy = await postgresProxy(postgresUrl())
  const client = await connect(proxy)
  const before = proxy.counts

  proxy.stall()
  let answered = false
  const answer = client.query('select 1').finally(() => {
    answered = true
  })
  const late = connect(proxy)
  await eventually(() => proxy.counts.bytesToServer > before.bytesToServer)
  await eventually(() => proxy.counts.connections === 2)
  expect(answered).toBe(false)
  expect(proxy.counts.open).toBe(2)
  proxy.mend()

  await answer
  await (await late).query('select 1')
})

test('a server that is not running is reported as such', async () => {
  await using proxy = await postgresProxy('postgres://nobody@127.0.0.1:1/none')

  await expect(connect(proxy)).rejects.toThrow(/ECONNRESET|terminated/)
  await eventually(() => proxy.counts.open === 0)
})

test('invalid arguments are refused', async () => {
  await using proxy = await postgresProxy(postgresUrl())

  await expect(postgresProxy('mysql://localhost')).rejects.toThrow(
    'postgresProxy: url must be "postgres://host:port/name", got another text',
  )
  expect(() => proxy.cutOn({})).toThrow('cutOn: give either text or bytes')
  expect(() => proxy.cutOn({ text: 'a', bytes: 1 })).toThrow('give either text or bytes')
  expect(() => proxy.cutOn({ text: '' })).toThrow('text must be a non-empty string, got ""')
  expect(() => proxy.cutOn({ text: 'a', at: 'anwser' as 'answer' })).toThrow(
    `cutOn: at must be one of 'request', 'answer', 'after', got "anwser"`,
  )
  expect(() => proxy.latency({ toserver: 1 } as object)).toThrow('did you mean "toServer"?')
})
