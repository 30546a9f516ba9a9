import { setTimeout } from 'node:timers/promises'
import { Pool } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { channel, connect, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { notifierFor, SharedNotifier } from '../../src/postgres/notifier/shared-notifier.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import type { Hint, HintSubscription } from '../../src/store/hints.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { listenOn, storeWithHints } from './listeners.ts'
import { CLIENT, LISTENING, RECALL, sceneIn, scenesInOneSchema } from './scene.ts'

// The listen connection: where it comes from, and what happens to it.

const openScene = scenesInOneSchema()
const go = channel('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))

test('a connection that is cut is replaced, and missed work is looked for', async () => {
  await using scene = openScene()
  const [a, store] = [await scene.runtime(), await scene.store()]
  const looksBefore = a.polls

  const cut = await scene.database.query(`select pg_terminate_backend(pid) ${LISTENING}`)
  expect(cut).toHaveLength(1)
  await eventually(() => a.polls > looksBefore && a.listening.isListening)
  store.hints!.announce({ kind: 'recalled', iids: [1] }, CLIENT)

  expect(await a.until(1)).toEqual([{ kind: 'recalled', iids: [1] }])
  expect(a.listening.health()).toEqual({ state: 'listening', interruptions: 1 })
  expect(a.log.at('warn')).toEqual(['notification connection lost; reconnecting'])
})

test('runtimes and clients of one postgres() share one listen connection', async () => {
  await using database = await testSchema()
  const notifier = new SharedNotifier({ url: database.url })
  const settings = { source: { url: database.url }, schema: database.schema }
  const stores = [1, 2].map(() => postgresWorkflowStore(settings, notifier))
  for (const store of stores) await store.open()
  const [a, b] = [await listenOn(stores[0]!, 7), await listenOn(stores[1]!, 8)]
  const listening = (): Promise<unknown[]> => database.query(`select 1 ${LISTENING}`)

  expect(await listening()).toHaveLength(1)
  await a.listening.close()
  // The store of the first listener may be closed before the last one is.
  await stores[0]!.close()
  await database.query(RECALL)
  expect(await b.until(1)).toEqual([{ kind: 'recalled', iids: [1] }])
  await b.listening.close()
  await eventually(async () => (await listening()).length === 0)
  await stores[1]!.close()
})

test('all stores of one pool share one listen connection, for each schema', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 3 })
  const log = memoryLog()
  const { schema } = database
  const clients = [1, 2, 3, 4, 5].map(() => connect(postgres({ pool, schema }), { log }))
  const { id } = await clients[0]!.start(waits)
  const listening = (): Promise<unknown[]> => database.query(`select 1 ${LISTENING}`)

  for (const client of clients)
    client
      .get(id)
      .result()
      .catch(() => {})
  await eventually(async () => (await listening()).length > 0)
  await setTimeout(500)

  expect(await listening()).toHaveLength(1)
  expect(notifierFor({ pool }, 'elsewhere')).not.toBe(notifierFor({ pool }, schema))
  expect(log.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  await Promise.all(clients.map((client) => client.close()))
  await eventually(async () => (await listening()).length === 0)
  await pool.end()
})

test('a pool of the user lends a connection, and gets it back', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 3 })
  const store = await storeWithHints({ pool }, database.schema)
  const a = await listenOn(store, 7)

  await database.query(RECALL)
  expect(await a.until(1)).toEqual([{ kind: 'recalled', iids: [1] }])

  await a.listening.close()
  await store.close()
  await pool.end()
})

test('however many listen through a pool of the user, its last connection is not kept', async () => {
  await using database = await testSchema()
  const { schema } = database
  const pool = new Pool({ connectionString: database.url, max: 3 })
  const stores = [1, 2, 3].map(() => {
    const settings = { source: { pool }, schema }
    return postgresWorkflowStore(settings, new SharedNotifier(settings.source))
  })
  const log = memoryLog()
  const listen = (store: (typeof stores)[number]): HintSubscription =>
    store.hints!.listen({
      clock: systemClock(),
      log,
      interest: () => ({ runtime: 0, workflows: [], tasks: null, ownedTasks: [] }),
      receive() {},
      poll: async () => false,
    })
  for (const store of stores) await store.open()
  const [first, second] = [listen(stores[0]!), listen(stores[1]!)]
  await eventually(() => first.isListening && second.isListening)

  const third = listen(stores[2]!)
  await eventually(() => third.health().lastError !== undefined)

  expect(third.health().lastError).toContain('2 of them listen already')
  expect(await stores[2]!.now()).toBeGreaterThan(0)
  await first.close()
  await eventually(() => third.isListening)
  await Promise.all([second, third].map((listening) => listening.close()))
  await Promise.all(stores.map((store) => store.close()))
  await pool.end()
})

test('a hint that comes while a listener looks is received', async () => {
  await using scene = openScene()
  const { database } = scene
  const store = await scene.store()
  const hints: Hint[] = []

  const listening = store.hints!.listen({
    clock: systemClock(),
    log: memoryLog(),
    interest: () => ({ runtime: 7, workflows: [], tasks: null, ownedTasks: [] }),
    receive: (hint) => void hints.push(hint),
    // Found nothing, and then something was done before it came to wait.
    async poll() {
      await database.query(RECALL)
      return false
    },
  })
  onTestFinished(() => listening.close())

  await eventually(() => hints.length > 0)
  expect(hints).toEqual([{ kind: 'recalled', iids: [1] }])
})

describe('two schemas in one database never share hints', () => {
  const long = 'x'.repeat(50)
  test.each([
    [`we "ird' \\`, 'WE "ird'],
    [long, long],
  ])('%s and %s', async (one, two) => {
    await using first = await testSchema(one)
    await using second = await testSchema(two)
    await using here = sceneIn(first)
    await using there = sceneIn(second)
    const [a, b] = [await here.runtime(), await there.runtime()]
    const store = await here.store()

    store.hints!.announce({ kind: 'recalled', iids: [1] }, CLIENT)
    await a.until(1)
    const elsewhere = await there.store()
    elsewhere.hints!.announce({ kind: 'recalled', iids: [2] }, CLIENT)

    expect(await b.until(1)).toEqual([{ kind: 'recalled', iids: [2] }])
    expect(a.hints).toEqual([{ kind: 'recalled', iids: [1] }])
  })
})

describe('behind a pooler that loses notifications', () => {
  test('the store is polled instead, and that is logged', async () => {
    await using scene = openScene()
    const { url, schema } = scene.database
    const pool = deafPool(url)
    const store = await storeWithHints({ pool }, schema)
    const log = memoryLog()
    let looks = 0

    const listening = store.hints!.listen({
      clock: hurriedClock(),
      log,
      interest: () => ({ runtime: 7, workflows: [], tasks: null, ownedTasks: [] }),
      receive() {},
      async poll() {
        looks++
        return false
      },
    })
    await eventually(() => listening.health().state === 'deaf')
    const before = looks
    await eventually(() => looks > before + 3)

    expect(log.at('warn')).toEqual([expect.stringContaining('set listenUrl')])
    await listening.close()
    await store.close()
    await pool.end()
  })

  test('a listenUrl that bypasses it helps', async () => {
    await using scene = openScene()
    const { url, schema } = scene.database
    const pool = deafPool(url)
    const store = await storeWithHints({ pool }, schema, { url })

    const a = await listenOn(store, 7)

    expect(a.listening.health()).toEqual({ state: 'listening', interruptions: 0 })
    await a.listening.close()
    await store.close()
    await pool.end()
  })
})

/** Time passes fifty times as fast, for tests that wait for something that does not happen. */
function hurriedClock(): Clock {
  const clock = systemClock()
  return {
    ...clock,
    now: () => clock.now() * 50,
    after: (ms, fire) => clock.after(ms / 50, fire),
  }
}

/** Connections that accept LISTEN and never receive anything. */
function deafPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 3 })
  pool.on('connect', (client) => {
    const emit = client.emit.bind(client) as (...args: unknown[]) => boolean
    client.emit = (...args: unknown[]) => args[0] !== 'notification' && emit(...args)
  })
  return pool
}
