/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test, vi } from 'vitest'

import {
  activity,
  channel,
  connect,
  open,
  type Registrable,
  type Runtime,
  type Store,
  workflow,
} from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { type PostgresProxy, postgresProxy } from '../../src/testing/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { cleanUp } from './clean-up.ts'
import { names, stoppedLoops, voyages } from './voyages.ts'

// A database that is far away: everything works, and what it costs is round trips, which are counted.

vi.setConfig({ testTimeout: 90_000 })

/** A runtime whose database is as far away as its proxy says. */
interface Far extends AsyncDisposable {
  readonly proxy: PostgresProxy
  readonly store: Store
  readonly holdfast: Runtime
}

async function openThrough(register: Registrable): Promise<Far> {
  const stack = cleanUp()
  const database = stack.use(await testSchema('latency'))
  const proxy = stack.use(await postgresProxy(database.url))
  const store = postgres({ url: proxy.url, schema: database.schema })
  const holdfast = stack.use(await open(store, { register, log: memoryLog() }))
  // What a runtime does at the start is not counted.
  await eventually(() => holdfast.health().hints.state === 'listening')
  await holdfast.idle()
  return { proxy, store, holdfast, [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose]() }
}

// They mostly wait, each for its own proxy.
describe.concurrent.each([70, 150])('round trips of %d ms', (roundTripMs) => {
  test('workflows with activities, timers, children and messages from another process end once', async () => {
    const { sail, check, register } = voyages()
    await using far = await openThrough(register)
    const { proxy, store, holdfast } = far
    await using elsewhere = connect(store, { log: memoryLog() })
    const ids = names(5)

    proxy.latency({ toServer: roundTripMs / 2, toClient: roundTripMs / 2 })
    await sail(elsewhere, ids)

    await check(elsewhere, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
    proxy.latency({ toServer: 0, toClient: 0 })
  })

  test('a step costs one round trip', async () => {
    const add = activity('add', async (n: number) => n + 1)
    const steps = workflow('steps', async (count: number, ctx) => {
      let n = 0
      while (n < count) n = await ctx.run(add, n)
      return n
    })
    await using far = await openThrough(steps)
    const { proxy, holdfast } = far
    await holdfast.run(steps, 1)
    proxy.latency({ toServer: roundTripMs / 2, toClient: roundTripMs / 2 })

    const few = await roundTrips(proxy, () => holdfast.run(steps, 5))
    const many = await roundTrips(proxy, () => holdfast.run(steps, 25))

    expect(few).toBeLessThanOrEqual(5 + 1 + SLACK)
    expect(many - few).toBeLessThanOrEqual(20 + SLACK)
    expect(many).toBeGreaterThanOrEqual(25)
    proxy.latency({ toServer: 0, toClient: 0 })
  })
})

// A tick, a hint, or the like may fall into what is measured.
const SLACK = 6

describe('round trips', () => {
  test('steps of many instances at once share them', async () => {
    const add = activity('add', async (n: number) => n + 1)
    const steps = workflow('steps', async (count: number, ctx) => {
      let n = 0
      while (n < count) n = await ctx.run(add, n)
      return n
    })
    await using far = await openThrough(steps)
    const { proxy, holdfast } = far
    await holdfast.run(steps, 1)
    proxy.latency({ toServer: 10, toClient: 10 })

    const cost = await roundTrips(proxy, () =>
      Promise.all(Array.from({ length: 40 }, () => holdfast.run(steps, 10))),
    )

    // 440 turns; each instance waits for its own, and half of them may be in each batch.
    expect(cost).toBeLessThanOrEqual(60)
    proxy.latency({ toServer: 0, toClient: 0 })
  })

  test.each([
    ['timers', 1],
    ['children', 3],
  ] as const)('%s cost at most %d each', async (what, most) => {
    const leaf = workflow('leaf', async (n: number) => n)
    const program = workflow('program', async (count: number, ctx) => {
      for (let i = 0; i < count; i++) await (what === 'timers' ? ctx.sleep(5) : ctx.run(leaf, i))
    })
    await using far = await openThrough([program, leaf])
    const { proxy, holdfast } = far
    await holdfast.run(program, 1)

    const few = await roundTrips(proxy, () => holdfast.run(program, 2))
    const many = await roundTrips(proxy, () => holdfast.run(program, 22))

    expect(many - few).toBeLessThanOrEqual(20 * most + SLACK)
    expect(many).toBeGreaterThanOrEqual(22 * most)
  })

  test('messages from another process cost at most four each, for both together', async () => {
    const go = channel<number>('go')
    const listener = workflow('listener', async (count: number, ctx) => {
      for (let i = 0; i < count; i++) await ctx.receive(go)
    })
    await using far = await openThrough(listener)
    const { proxy, store, holdfast } = far
    await using elsewhere = connect(store, { log: memoryLog() })
    const exchange = async (count: number): Promise<void> => {
      const instance = await holdfast.start(listener, count, { id: `l${count}` })
      const sender = elsewhere.get(instance.id)
      for (let i = 0; i < count; i++) await sender.send(go, i)
      await instance.result()
    }
    await exchange(1)

    const few = await roundTrips(proxy, () => exchange(2))
    const many = await roundTrips(proxy, () => exchange(22))

    expect(many - few).toBeLessThanOrEqual(20 * 4 + SLACK)
    expect(many).toBeGreaterThanOrEqual(22)
  })
})

async function roundTrips(proxy: PostgresProxy, run: () => Promise<unknown>): Promise<number> {
  const before = proxy.counts.roundTrips
  await run()
  return proxy.counts.roundTrips - before
}
