import { Pool } from 'pg'
import { expect, test } from 'vitest'

import { testSchema } from '../../../test/support/postgres.ts'
import { openStore } from '../../../test/support/postgres-store.ts'
import { lentConnections } from './connections.ts'
import type { PgClient, PgPool, Statement } from './driver.ts'
import { ServerWatch } from './server-watch.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

/** A pool of connections to servers on these timelines, which are lent in turn. */
function poolOf(...timelines: readonly (string | null)[]) {
  const ended: (string | null)[] = []
  const idle = timelines.map((timeline): PgClient & { timeline: string | null } => ({
    timeline,
    async query() {
      return { rows: [{ timeline: this.timeline }] }
    },
    on() {},
    removeListener() {},
    release(destroy) {
      if (destroy === true) ended.push(this.timeline)
      else idle.push(this)
    },
  }))
  const pool = {
    on() {},
    removeListener() {},
    connect: async () => idle.shift()!,
  } as unknown as PgPool
  return { pool, idle, ended }
}

const ask = { text: 'select 1' }

test('calls from before a promotion are not sent to the new server', async () => {
  const { pool } = poolOf('1', '2')
  const watch = new ServerWatch()
  let promotions = 0
  watch.onPromotion = () => promotions++
  const connections = lentConnections(pool, watch)
  await connections.query('tick', 'other', ask)

  const second = connections.query('tick', 'other', ask)

  await expect(second).rejects.toMatchObject({ code: 'connection_lost' })
  expect(promotions).toBe(1)
})

test('connections to a server that was replaced are closed, though they work', async () => {
  const { pool, ended } = poolOf('1', '1', '2', '2')
  const connections = lentConnections(pool)
  await connections.query('tick', 'other', ask)
  await connections.query('tick', 'other', ask)
  await expect(connections.query('tick', 'other', ask)).rejects.toMatchObject({ retryable: true })
  await connections.query('tick', 'other', ask)

  const left = [
    connections.query('commit_batch', 'commit', ask),
    connections.query('tick', 'other', ask),
  ]

  for (const call of left) {
    await expect(call).rejects.toMatchObject({ code: 'connection_lost', retryable: true })
  }
  expect(ended).toEqual(['2', '1', '1'])
  await expect(connections.query('tick', 'other', ask)).resolves.toBeDefined()
})

test('a standby is asked again each time, until it was promoted', async () => {
  const { pool, idle } = poolOf(null)
  const watch = new ServerWatch()
  const connections = lentConnections(pool, watch)
  await connections.query('tick', 'other', ask)
  Object.assign(idle[0]!, { timeline: '2' })

  await connections.query('tick', 'other', ask)

  expect(watch.knows(idle[0]!)).toBe(true)
  expect(watch.promotions).toBe(0)
})

test('behind a pooler, the server itself reports that it was promoted', () => {
  const watch = new ServerWatch()
  let promotions = 0
  watch.onPromotion = () => promotions++

  const answers = ['5f3a-1', '60b1-1', '60b1-2', '60b1-2', '77aa-1F'].map((identity) =>
    watch.sawServer(identity),
  )

  // A restart alone changes only the first half.
  expect(answers).toEqual([false, false, true, false, true])
  expect(promotions).toBe(2)
})

test('connections and the server itself report the same timeline', async () => {
  await using opened = await openStore()
  const runtime = await opened.runtime()
  let promotions = 0
  opened.store.onPromotion!(() => promotions++)
  const empty = { starts: [], turns: [] }

  const answer = await opened.store.commit({ ...runtime, ...empty, server: 'another-1' })

  expect(answer).toMatchObject({ state: 'verify', server: runtime.server })
  expect(promotions).toBe(0)
})

test('a commit that finds a promoted server is not judged by it', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 3 })
  const store = postgresWorkflowStore({
    source: { pool: elsewhere(pool) },
    schema: database.schema,
  })
  let promotions = 0
  store.onPromotion!(() => promotions++)
  await store.open()
  const workflows = [{ name: 'order', version: '1' }]
  const runtime = await store.register({ leaseMs: 30_000, info: '', workflows })

  const commit = store.commit({ ...runtime, starts: [], turns: [], server: 'before-1F' })

  await expect(commit).rejects.toMatchObject({ code: 'connection_lost' })
  expect(promotions).toBe(1)
  await store.close()
  await pool.end()
})

/** A pool whose connections say that they lead to the server before. */
function elsewhere(pool: Pool): PgPool {
  return {
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    end: () => pool.end(),
    async connect() {
      const client = (await pool.connect()) as unknown as PgClient
      const query = client.query.bind(client)
      return Object.assign(client, {
        query: (statement: Statement) =>
          statement.text.includes('as timeline')
            ? Promise.resolve({ rows: [{ timeline: '0000001F' }] })
            : query(statement),
      })
    },
  }
}
