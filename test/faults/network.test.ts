import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { connect, open, type Runtime, type Store, workflow } from '../../src/index.ts'
import { postgres, transaction } from '../../src/postgres/index.ts'
import { type CutOn, type PostgresProxy, postgresProxy } from '../../src/testing/index.ts'
import { LISTENING } from '../notifier/scene.ts'
import { eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { cleanUp } from './clean-up.ts'
import { names, stoppedLoops, type Voyages, voyages } from './voyages.ts'

// Workflows over a network that fails them: all end once, and nothing recorded is done again.

vi.setConfig({ testTimeout: 90_000 })

interface Scene extends Voyages, AsyncDisposable {
  readonly proxy: PostgresProxy
  readonly store: Store
  readonly holdfast: Runtime
}

let database: TestSchema
beforeAll(async () => {
  database = await testSchema('network')
})
afterAll(() => database[Symbol.asyncDispose]())

async function openScene(): Promise<Scene> {
  const stack = cleanUp()
  const made = voyages()
  const proxy = stack.use(await postgresProxy(database.url))
  const store = postgres({ url: proxy.url, schema: database.schema })
  const holdfast = stack.use(await open(store, { register: made.register, log: memoryLog() }))
  return Object.assign(made, {
    proxy,
    store,
    holdfast,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  })
}

test('connections that are cut again and again', async () => {
  await using scene = await openScene()
  const { proxy, holdfast } = scene
  const ids = names(20)
  let runs = 0
  scene.onRun = () => {
    if (++runs % 6 === 0) proxy.cut()
  }

  await scene.sail(holdfast, ids)

  await scene.check(holdfast, ids)
  expect(stoppedLoops(holdfast)).toEqual([])
})

describe('one connection that is cut', () => {
  const points: CutOn[] = [
    { text: 'commit_batch', at: 'request' },
    { text: 'commit_batch', at: 'answer' },
    { text: 'commit_batch', at: 'after' },
    { text: 'listen ', at: 'answer' },
    { text: 'tell_hints', at: 'answer' },
    { text: 'start_nowait', at: 'answer' },
    { text: 'post_nowait', at: 'answer' },
    { text: '"load"', at: 'request' },
    { bytes: 1 },
    { bytes: 3_000 },
    { bytes: 20_000 },
  ]
  test.each(points)('at $text $at $bytes', async (when) => {
    await using scene = await openScene()
    const { proxy, holdfast, store } = scene
    await using elsewhere = connect(store, { log: memoryLog() })
    const ids = names(4)

    const cut = proxy.cutOn(when)
    // A connection that listens anew says so.
    if (when.text === 'listen ') await database.query(END_LISTENERS)
    await scene.sail(elsewhere, ids)
    await cut

    await scene.check(holdfast, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
  })
})

const END_LISTENERS = `select pg_terminate_backend(pid) ${LISTENING}`

describe('a transaction of an activity whose connection is cut', () => {
  test.each([
    ['within it', { text: 'insert into' }, 2],
    ['behind its SQL', { text: 'insert into', at: 'answer' }, 2],
    ['before its commit', { text: 'commit\0' }, 2],
    ['after its commit, before the answer', { text: 'commit\0', at: 'answer' }, 1],
  ] as const)('%s: its SQL is committed once', async (_, when, runs) => {
    await using proxy = await postgresProxy(database.url)
    const table = `"${database.schema}".bookings`
    let ran = 0
    const book = transaction('book', async (entry: string, { tx }) => {
      ran++
      await tx.query(`insert into ${table} values ($1)`, [entry])
      return entry
    })
    const trip = workflow('trip', async (entry: string, ctx) => ctx.run(book, entry))
    const store = postgres({ url: proxy.url, schema: database.schema })
    await using holdfast = await open(store, { register: trip, log: memoryLog() })
    await database.query(`drop table if exists bookings`)
    await database.query(`create table bookings (entry text)`)

    const cut = proxy.cutOn(when)
    const result = holdfast.run(trip, 'a', { timeout: '60s' })
    await cut

    expect(await result).toBe('a')
    expect(await database.query('select entry from bookings')).toEqual([{ entry: 'a' }])
    expect(ran).toBe(runs)
  })
})

test('an outage: connections are cut, and new ones refused for a while', async () => {
  await using scene = await openScene()
  const { proxy, holdfast } = scene
  const ids = names(8)
  let runs = 0
  scene.onRun = () => {
    if (++runs !== 10) return
    proxy.refuse()
    proxy.cut()
  }

  const sailed = scene.sail(holdfast, ids)
  await eventually(() => proxy.counts.refused >= 5)
  proxy.mend()
  await sailed

  await scene.check(holdfast, ids)
  expect(stoppedLoops(holdfast)).toEqual([])
  await eventually(() => holdfast.health().hints.state === 'listening')
})

test('a network that swallows everything for a while, and then delivers it', async () => {
  await using scene = await openScene()
  const { proxy, holdfast } = scene
  const ids = names(8)
  let runs = 0
  let sent = Infinity
  scene.onRun = () => {
    if (++runs !== 10) return
    proxy.stall()
    sent = proxy.counts.bytesToServer
  }

  const sailed = scene.sail(holdfast, ids)
  await eventually(() => proxy.counts.bytesToServer > sent)
  proxy.mend()
  await sailed

  await scene.check(holdfast, ids)
  expect(stoppedLoops(holdfast)).toEqual([])
})
