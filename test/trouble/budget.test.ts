import { setTimeout as passTime } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, open, workflow } from '../../src/index.ts'
import { postgres, transaction } from '../../src/postgres/index.ts'
import { eventually } from '../support/engine.ts'
import { memoryLog } from '../support/workers.ts'
import { type OwnServer, ownServer } from './own-server.ts'

const LIMIT_MS = 60_000
const INSTANCES = 100
// As the guide says: one for commits, four for calls, four for transactions, one that listens, and
// one for the lease.
const MAX_OF_RUNTIME = 11
// Four for calls, and one that listens.
const MAX_OF_CLIENT = 5

let server: OwnServer

beforeAll(async () => {
  server = await ownServer()
}, LIMIT_MS)
afterAll(() => server[Symbol.asyncDispose](), LIMIT_MS)

/** The most connections of ours that there were at once while something was under way. */
async function mostWhile(work: Promise<unknown>): Promise<number> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  work.then(over, over)
  let most = 0
  do {
    most = Math.max(most, (await server.ours()).length)
    await passTime(10)
  } while (!isOver)
  await work
  return most
}

const wait = transaction('wait', async (ms: number, { tx }) => {
  await tx.query('select pg_sleep($1)', [ms / 1000])
  return ms
})
const job = workflow('job', async (n: number, ctx) => ctx.run(wait, n))

test(
  'a runtime and a client have no more connections than the guide says, whatever they do',
  async () => {
    const runtime = await open(postgres({ url: server.url }), {
      register: job,
      lease: '3s',
      log: memoryLog(),
    })
    const all = Array.from({ length: INSTANCES }, (_, i) => runtime.run(job, 20, { id: `${i}` }))
    const looks = Array.from({ length: INSTANCES }, (_, i) => runtime.get(`${i}`).info())
    const ofRuntime = await mostWhile(Promise.all([...all, ...looks, passTime(1_500)]))
    await runtime.close({ drain: 0 })
    // The server notices a little later.
    await eventually(async () => (await server.ours()).length === 0)

    await using client = connect(postgres({ url: server.url }), { log: memoryLog() })
    const results = Array.from({ length: INSTANCES }, (_, i) => client.get(`${i}`).result())
    const more = Array.from({ length: INSTANCES }, (_, i) => client.get(`${i}`).info())
    const ofClient = await mostWhile(Promise.all([...results, ...more, passTime(500)]))

    expect(ofRuntime).toBeLessThanOrEqual(MAX_OF_RUNTIME)
    // All four kinds that are used for sure, and the transactions side by side.
    expect(ofRuntime).toBeGreaterThan(MAX_OF_CLIENT)
    expect(ofClient).toBeLessThanOrEqual(MAX_OF_CLIENT)
    expect(ofClient).toBeGreaterThan(0)
  },
  LIMIT_MS,
)
