import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { open, StoreError } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { memoryLog } from '../support/workers.ts'
import { countedWork } from './line.ts'
import { type OwnServer, ownServer } from './own-server.ts'
import { until } from './stage.ts'

const LIMIT_MS = 90_000
const INSTANCES = 20

let server: OwnServer

beforeAll(async () => {
  server = await ownServer()
  await server.query('create role app login')
  await server.query('grant create on database postgres to app')
  await server.letIn('host all app all scram-sha-256', 'host all all all trust')
}, LIMIT_MS)
afterAll(() => server[Symbol.asyncDispose](), LIMIT_MS)
beforeEach(async () => {
  await server.query(`alter role app password 'first'`)
})

function poolWith(password: () => Promise<string>): Pool {
  const { port } = server
  return new Pool({ host: '127.0.0.1', port, user: 'app', database: 'postgres', password, max: 20 })
}

/** Whether the thread that renews the lease is connected. */
async function leaseIsKept(): Promise<boolean> {
  return (await server.ours()).some(({ name }) => name === 'holdfast lease')
}

test.each<[string, (tokens: { current: () => Promise<string> }) => Promise<void>]>([
  [
    'is changed, and known at once',
    async (tokens) => {
      tokens.current = async () => 'second'
      await server.query(`alter role app password 'second'`)
      await server.cut()
    },
  ],
  [
    'is changed, and known some time later',
    async (tokens) => {
      let refused = 0
      tokens.current = async () => (refused++, 'first')
      await server.query(`alter role app password 'second'`)
      await server.cut()
      // More than one loop has been refused by then.
      await until(() => refused > 3)
      tokens.current = async () => 'second'
    },
  ],
  [
    'cannot be had for a while',
    async (tokens) => {
      let asked = 0
      tokens.current = async () => {
        asked++
        throw new TypeError('fetch failed')
      }
      await server.cut()
      await until(() => asked > 3)
      tokens.current = async () => 'first'
    },
  ],
])(
  'work continues when a password that is asked for %s',
  async (_, rotate) => {
    const tokens = { current: async () => 'first' }
    const pool = poolWith(() => tokens.current())
    const { line, runs } = countedWork()
    const log = memoryLog()
    const runtime = await open(postgres({ pool }), { register: line, lease: '3s', log })

    const starts = Array.from({ length: INSTANCES }, () => runtime.start(line, 30))
    const results = (await Promise.all(starts)).map((instance) => instance.result())
    await until(leaseIsKept)
    await rotate(tokens)

    expect(await Promise.all(results)).toEqual(Array.from({ length: INSTANCES }, () => 465))
    expect([...runs.values()]).toEqual(Array.from({ length: INSTANCES * 30 }, () => 1))
    // The thread was cut off, too; it is needed only once the loop is late.
    stall(2_500)
    await until(leaseIsKept)
    const [row] = await server.query(
      'select count(*)::int as n from holdfast.runtimes where state = 2',
    )
    expect(row).toEqual({ n: 0 })
    await runtime.close({ drain: 0 })
    await pool.end()
  },
  LIMIT_MS,
)

test(
  'a password that is wrong from the beginning is reported at once',
  async () => {
    const pool = poolWith(async () => 'wrong')
    const { line } = countedWork()

    const opened = open(postgres({ pool }), { register: line }).catch((error: unknown) => error)

    const error = (await opened) as StoreError
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('password authentication failed'),
    })
    await pool.end()
  },
  LIMIT_MS,
)

function stall(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs;);
}

test('that is missing, or wrong, is reported with the server and the user, and never shown', async () => {
  const { port } = server
  const at = `open: cannot connect to PostgreSQL at 127.0.0.1, port ${port} as user "app" to database "postgres": `
  const open1 = (user: string): Promise<unknown> =>
    open(`postgres://${user}@127.0.0.1:${port}/postgres`, { register: countedWork().line })

  await expect(open1('app')).rejects.toThrow(
    new StoreError(
      'misconfigured',
      'open',
      `${at.slice('open: '.length)}the server requires a password and none was given; add it to the URL, or set PGPASSWORD`,
    ),
  )
  await expect(open1('app:guessed')).rejects.toThrow(
    `${at}password authentication failed for user "app"; check the user and the password`,
  )
})
