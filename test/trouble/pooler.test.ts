import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { channel, connect, open, workflow } from '../../src/index.ts'
import { doctor, postgres, transaction } from '../../src/postgres/index.ts'
import { memoryLog } from '../support/workers.ts'
import { countedWork } from './line.ts'
import { type OwnServer, ownServer } from './own-server.ts'
import { hasPooler, type Pooler, startPooler } from './pooler.ts'
import { until } from './stage.ts'

const LIMIT_MS = 90_000
const INSTANCES = 30

const note = channel<number>('note')
const reader = workflow('reader', async (_: null, ctx) => ctx.receive(note))

const pay = transaction('pay', async (cents: number, { tx }) => {
  await tx.query('select $1::integer', [cents])
  return cents
})
const rich = workflow('rich', async (_: null, ctx) => {
  const cents = await ctx.run(pay, 5)
  await ctx.sleep(5)
  return cents + (await ctx.receive(note))
})

/**
 * What the next user of a session of the server finds in it. Settings of PL/pgSQL are there as soon
 * as a function is called in it.
 */
const SESSION = `select
  pg_backend_pid() as process,
  (select json_object_agg(name, setting) from pg_settings where name not like 'plpgsql.%') as settings,
  array(select name from pg_prepared_statements) as prepared,
  array(select pg_listening_channels()) as listening,
  array(select relname from pg_class where relpersistence = 't') as temporary,
  array(select objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks`

async function sessionThrough(url: string): Promise<unknown> {
  // PgBouncer gives each its own name, but leaves those that have none with that of the last.
  const client = new Client({ connectionString: url, application_name: 'another application' })
  await client.connect()
  try {
    return (await client.query(SESSION)).rows[0]
  } finally {
    await client.end()
  }
}

describe.skipIf(!hasPooler)('behind PgBouncer in transaction mode (where it is installed)', () => {
  let server: OwnServer
  let pooler: Pooler

  beforeAll(async () => {
    server = await ownServer()
    pooler = await startPooler(server.url)
  }, LIMIT_MS)
  afterAll(async () => {
    await pooler[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  }, LIMIT_MS)

  test.concurrent.each([
    ['alone, hints do not arrive, and the store is polled instead', false, 'deaf'],
    ['with an address that leads past it, hints arrive', true, 'listening'],
  ] as const)(
    '%s',
    async (_, leadsPast, state) => {
      const schema = `pooled_${state}`
      const listenUrl = leadsPast ? { listenUrl: server.url } : {}
      const store = () => postgres({ url: pooler.url, schema, ...listenUrl })
      const { line, runs } = countedWork()
      const log = memoryLog()
      await using one = await open(store(), { register: [line, reader], log })
      await using other = await open(store(), { register: [line, reader], log: memoryLog() })
      await using client = connect(store(), { log: memoryLog() })

      const all = Array.from({ length: INSTANCES }, (__, i) => [one, other][i % 2]!.run(line, 5))
      expect(await Promise.all(all)).toEqual(all.map(() => 15))
      expect([...runs.values()]).toEqual(Array.from({ length: INSTANCES * 5 }, () => 1))

      await until(() => one.health().hints.state === state)
      const { id } = await one.start(reader, null)
      await client.get(reader, id).send(note, 7)
      expect(await client.get(reader, id).result({ timeout: '30s' })).toBe(7)

      const said = log.at('warn').filter((words) => words.includes('listenUrl'))
      expect(said).toHaveLength(leadsPast ? 0 : 1)
      const found = await doctor({ url: pooler.url, schema, ...listenUrl })
      expect(found.some(({ fix }) => fix.includes('listenUrl'))).toBe(!leadsPast)
    },
    LIMIT_MS,
  )

  test.concurrent(
    'nothing of ours stays in the session of another application',
    async () => {
      await using narrow = await startPooler(server.url, 1)
      const { url } = narrow
      const before = await sessionThrough(url)

      const store = postgres({ url, schema: 'guest' })
      const runtime = await open(store, { register: [rich], log: memoryLog() })
      await until(() => runtime.health().hints.state === 'deaf')
      const instance = await runtime.start(rich, null)
      await until(async () => (await instance.info())!.waitingFor.join().includes('note'))
      const during = await sessionThrough(url)
      await instance.send(note, 2)
      const result = await instance.result()
      await doctor({ url, schema: 'guest' })
      await runtime.close()
      const after = await sessionThrough(url)

      expect(result).toBe(7)
      expect(during).toEqual(before)
      expect(after).toEqual(before)
    },
    LIMIT_MS,
  )

  // Alone: it changes the role of the others.
  test('a role whose transactions are serializable gets an error that suggests another role', async () => {
    const admin = new Client(server.url)
    await admin.connect()
    const role = new URL(server.url).username
    await admin.query(`alter role ${role} set default_transaction_isolation to serializable`)
    await using fresh = await startPooler(server.url, 1)

    const opened = open(postgres({ url: fresh.url, schema: 'strict' }), {
      register: [reader],
      log: memoryLog(),
    })

    await expect(opened).rejects.toThrow('give Holdfast a role of its own')
    await admin.query(`alter role ${role} reset default_transaction_isolation`)
    await admin.end()
  })
})
