import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { connect, open, type Runtime, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { memoryLog } from '../support/workers.ts'
import { until } from './stage.ts'

const LIMIT_MS = 60_000
const greet = workflow('greet', async (name: string) => `hello ${name}`)
let server: PostgresServer
let data: string

beforeAll(async () => {
  // A standby that accepts no connections says what a starting server says, until it is promoted.
  server = await startPostgres(['hot_standby=off'])
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query(`select current_setting('data_directory') as data`)
  data = (rows as { data: string }[])[0]!.data
  await client.end()
}, LIMIT_MS)
afterAll(() => server.remove(), LIMIT_MS)

/**
 * Restarts the server as one that accepts no connections yet. Call the result to make it accept
 * them.
 */
async function startSlowly(): Promise<() => Promise<void>> {
  await server.stop()
  writeFileSync(join(data, 'standby.signal'), '')
  const started = server.start()
  await until(async () => (await stateOfConnection()) === '57P03')
  return async () => {
    writeFileSync(join(data, 'promote'), '')
    process.kill(server.pid, 'SIGUSR1')
    await started
  }
}

async function stateOfConnection(): Promise<unknown> {
  const client = new Client({ connectionString: server.url })
  client.on('error', () => {})
  return client.connect().then(
    () => client.end(),
    (error: { code?: unknown }) => error.code,
  )
}

test(
  'open and the first call of a client wait for a server that is starting, and say so',
  async () => {
    const letIn = await startSlowly()
    const log = memoryLog()
    const store = postgres({ url: server.url, schema: 'starting' })
    const opening = open(store, { register: greet, log })
    await using client = connect(store, { log })
    const starting = client.start(greet, 'Kim', { id: 'first' })
    await until(() => log.lines.length === 2)

    await letIn()
    await using runtime = await opening
    await starting

    expect(await runtime.get(greet, 'first').result({ timeout: '20s' })).toBe('hello Kim')
    const words = 'the database server is starting or shutting down; waiting for it'
    expect(log.lines.slice(0, 2)).toMatchObject([{ message: words }, { message: words }])
    expect(log.lines.filter(({ message }) => message === words)).toHaveLength(2)
  },
  LIMIT_MS,
)

test(
  'waiting ends when the server does not come up in time, or the client is closed',
  async () => {
    const letIn = await startSlowly()
    const log = memoryLog()
    const hasty = postgres({ url: server.url, schema: 'starting' })
    const client = connect(postgres({ url: server.url, schema: 'starting' }), { log })
    const closed = client.start(greet, 'Kim')
    closed.catch(() => {})

    const options = { connectTimeout: '300ms', log } as const
    const gaveUp = /; waited \d+ ms for the server \(option connectTimeout\)$/

    await expect(open(hasty, { register: greet, ...options })).rejects.toThrow(gaveUp)
    await using other = connect(hasty, options)
    await expect(other.start(greet, 'Kim')).rejects.toThrow(gaveUp)
    await client.close()

    await expect(closed).rejects.toThrow(/closed|not accepting connections/)
    await letIn()
  },
  LIMIT_MS,
)

test(
  'a server that is being restarted is waited for, and a wrong port fails within seconds',
  async () => {
    await server.stop()
    const log = memoryLog()
    const store = postgres({ url: server.url, schema: 'starting' })
    const begunMs = performance.now()
    const nowhere = open(postgres({ url: 'postgres://holdfast@127.0.0.1:1/postgres' }), {
      register: greet,
      log,
    })

    await expect(nowhere).rejects.toMatchObject({ code: 'connection_lost' })
    expect(performance.now() - begunMs).toBeLessThan(8_000)
    const opening = open(store, { register: greet, log })
    await server.start()

    await using runtime = await opening
    expect(await runtime.run(greet, 'Kim')).toBe('hello Kim')
  },
  LIMIT_MS,
)

test(
  'open waits for the server to come back, at whichever step the server goes down',
  async () => {
    const openings: Promise<Runtime | Error>[] = []
    const openAnother = (): void => {
      const store = postgres({ url: server.url, schema: 'starting' })
      const opening = open(store, { register: greet, log: memoryLog() })
      openings.push(opening.catch((error: Error) => error))
    }

    for (const how of ['fast', 'immediate'] as const) {
      // One after the other, so that the end of the server meets each at another point.
      const timer = setInterval(openAnother, 25)
      const begun = openings.length
      await until(() => openings.length === begun + 5)
      clearInterval(timer)
      await server.stop(how)
      await server.start()
    }

    const opened = await Promise.all(openings)
    const refused = opened.filter((one) => one instanceof Error)
    for (const one of opened) if (!(one instanceof Error)) await one.close({ drain: 0 })
    expect(refused).toEqual([])
  },
  LIMIT_MS,
)
