import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

import { Pool } from 'pg'
import { expect, test } from 'vitest'

import { testSchema, type TestSchema } from '../../../test/support/postgres.ts'
import { waitForLock } from '../../../test/support/postgres-store.ts'
import { type Behind, type Connections, lentConnections, ownConnections } from './connections.ts'

// Statements that leave right behind others.

test('the first statement is answered while the one behind it waits', async () => {
  await using scene = await openScene()
  const { connections, database } = scene
  const blocker = await database.connect()
  await blocker.query(`begin; ${scene.lock}`)
  const insert = sentBehind(`with locked as materialized (${scene.lock})
    insert into ${scene.notes} select 'behind' from locked`)

  const { rows } = await connections.query('test', 'other', { text: 'select 1 as one' }, insert)
  await waitForLock(database, 'advisory')
  expect(insert.outcomes).toEqual([])
  await blocker.query('commit')
  const outcome = await insert.first

  expect(rows).toEqual([{ one: 1 }])
  expect(outcome).toBe(true)
  expect(await scene.noted()).toEqual(['behind'])
})

test('the second statement begins when the first is committed, and sees its effects', async () => {
  await using scene = await openScene()
  const copy = sentBehind(`insert into ${scene.notes} select text || ' again' from ${scene.notes}`)

  const text = `insert into ${scene.notes} values ('first')`
  await scene.connections.query('test', 'other', { text }, copy)
  await copy.first

  expect(await scene.noted()).toEqual(['first', 'first again'])
})

test('the first call counts when the one behind it fails', async () => {
  await using scene = await openScene()
  const failing = sentBehind('select 1 / 0')

  const text = `insert into ${scene.notes} values ('first')`
  await scene.connections.query('test', 'other', { text }, failing)

  expect(await failing.first).toBe(false)
  expect(await scene.noted()).toEqual(['first'])
})

test('the second statement runs though the first one fails, and the first error is thrown', async () => {
  await using scene = await openScene()
  const insert = sentBehind(`insert into ${scene.notes} values ('behind')`)

  const failing = scene.connections.query('test', 'other', { text: 'select 1 / 0' }, insert)

  await expect(failing).rejects.toMatchObject({ name: 'StoreError' })
  expect(await insert.first).toBe(true)
  expect(await scene.noted()).toEqual(['behind'])
})

test('a connection lost during the second statement affects only that one', async () => {
  await using scene = await openScene()
  const { connections, database } = scene
  const blocker = await database.connect()
  await blocker.query(`begin; ${scene.lock}`)
  const insert = sentBehind(`with locked as materialized (${scene.lock})
    insert into ${scene.notes} select 'behind' from locked`)

  const { rows } = await connections.query(
    'test',
    'other',
    { text: 'select pg_backend_pid() as pid' },
    insert,
  )
  await waitForLock(database, 'advisory')
  const [{ pid }] = rows as [{ pid: number }]
  await database.query('select pg_terminate_backend($1)', [pid])

  expect(await insert.first).toBe(false)
  const { rows: next } = await connections.query('test', 'other', { text: 'select 2 as two' })
  expect(next).toEqual([{ two: 2 }])
})

test('nothing is sent behind on connections that send one statement at a time', async () => {
  await using scene = await openScene()
  const pool = new Pool({ connectionString: scene.database.url, max: 1 })
  const connections = lentConnections(pool)
  const insert = sentBehind(`insert into ${scene.notes} values ('behind')`)

  await connections.query('test', 'other', { text: 'select 1' }, insert)

  expect(await insert.first).toBe(false)
  expect(await scene.noted()).toEqual([])
  await connections.close()
  await pool.end()
})

interface Scene extends AsyncDisposable {
  readonly connections: Connections
  readonly database: TestSchema
  /** A table, for connections that do not use the schema. */
  readonly notes: string
  /** Takes a lock of this schema until the end of the transaction. */
  readonly lock: string
  noted(): Promise<readonly string[]>
}

test('connections that do not answer are closed, even with pipelined statements', async () => {
  await using server = await silentServer()
  const connections = ownConnections(server.url, { pipelines: true, answerWithinMs: 100 })

  for (let i = 0; i < 3; i++) {
    const lost = connections.query('test', 'other', { text: 'select 1' })
    await expect(lost).rejects.toMatchObject({ code: 'connection_lost' })
  }

  await expect.poll(() => server.open).toBe(0)
  await connections.close()
})

/** A server that accepts every connection and then never sends anything. */
async function silentServer() {
  const sockets = new Set<Socket>()
  const welcome = Buffer.from([
    ...Buffer.from('R'),
    0,
    0,
    0,
    8,
    0,
    0,
    0,
    0,
    ...Buffer.from('Z'),
    0,
    0,
    0,
    5,
    ...Buffer.from('I'),
  ])
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('data', () => socket.write(welcome))
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://anybody@127.0.0.1:${port}/any`,
    get open() {
      return sockets.size
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

async function openScene(): Promise<Scene> {
  const database = await testSchema()
  await database.query(`create schema if not exists "${database.schema}"`)
  await database.query('create table notes (text text)')
  const connections = ownConnections(database.url, { pipelines: true })
  return {
    connections,
    database,
    notes: `"${database.schema}".notes`,
    lock: `select pg_advisory_xact_lock(hashtext('${database.schema}'))`,
    async noted() {
      const rows = await database.query<{ text: string }>('select text from notes order by text')
      return rows.map(({ text }) => text)
    },
    async [Symbol.asyncDispose]() {
      await connections.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

interface Sent extends Behind {
  readonly first: Promise<boolean>
  readonly outcomes: readonly boolean[]
}

function sentBehind(text: string): Sent {
  const outcomes: boolean[] = []
  let over!: (isDone: boolean) => void
  const first = new Promise<boolean>((resolve) => {
    over = (isDone) => {
      outcomes.push(isDone)
      resolve(isDone)
    }
  })
  return { operation: 'behind', statement: { text }, over, first, outcomes }
}
