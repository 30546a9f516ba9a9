import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { virtualClock } from '../../src/testing/virtual-clock.ts'
import { EngineClient } from '../../src/engine/client/engine-client.ts'
import { valuesOf } from '../../src/engine/core/values.ts'
import {
  channel,
  type Client,
  connect,
  type Instance,
  request,
  type Store,
  StoreError,
  workflow,
} from '../../src/index.ts'
import { describeOnStores, openSpace } from '../support/engine.ts'
import { openSqlite } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

const go = channel<number>('go')
const ask = request<string, string>('ask')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))

/** Everything that can be waited for, each forever. */
function waitForAll(client: Client, id: string): Promise<unknown>[] {
  const watched = client.get(id).watch()[Symbol.asyncIterator]()
  return [
    client.get(id).result(),
    client.get(id).request(ask, 'what?'),
    watched.next().then(() => watched.next()),
  ]
}

/** A client of its own, and an instance that no runtime runs. */
async function closable(store: Store): Promise<{ client: Client; instance: Instance<number> }> {
  const client = connect(store, { log: silentLog })
  return { client, instance: await client.start(waits) }
}

/** How a promise ends, and whether it has by now. */
function outcomeOf(promise: Promise<unknown>): { error: unknown } {
  const outcome: { error: unknown } = { error: undefined }
  promise.catch((error: unknown) => (outcome.error = error))
  return outcome
}

/** Unhandled rejections while a test ran. */
function unhandled(): unknown[] {
  const reasons: unknown[] = []
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (reason) => reasons.push(reason))
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection')
    for (const other of others) process.on('unhandledRejection', other)
  })
  return reasons
}

describeOnStores('closing a client', (kind) => {
  test('rejects its waits at once, whatever the store still does', async () => {
    await using space = await openSpace(kind)
    const { client, instance } = await closable(space.store)
    const outcomes = waitForAll(client, instance.id).map(outcomeOf)
    await client.get(instance.id).info()

    const closed = client.close()
    await new Promise(setImmediate)

    const closedError = expect.objectContaining({ name: 'StoreError', code: 'closed' })
    expect(outcomes.map(({ error }) => error)).toEqual(outcomes.map(() => closedError))
    expect((outcomes[0]!.error as Error).message).toBe(
      `result: instance "${instance.id}": the client was closed during the wait`,
    )
    await closed
  })

  test('ends no process whose waits have no handler yet', async () => {
    await using space = await openSpace(kind)
    const { client, instance } = await closable(space.store)
    const reasons = unhandled()
    const pending = [instance.result(), client.run(waits), client.get(instance.id).result()]
    await client.get(instance.id).info()

    await client.close()
    await new Promise(setImmediate)

    expect(reasons).toEqual([])
    for (const wait of pending) await expect(wait).rejects.toThrow(StoreError)
  })

  test('refuses to wait after that, without listening again', async () => {
    await using space = await openSpace(kind)
    const { client, instance } = await closable(space.store)
    await client.close()

    const watched = client.get(instance.id).watch()[Symbol.asyncIterator]()
    const refused = [instance.result(), client.get(instance.id).result(), watched.next()]

    for (const wait of refused) await expect(wait).rejects.toThrow(/the client is closed; open or/)
  })

  test('waits that share a signal share a listener, and leave none', async () => {
    await using space = await openSpace(kind)
    const { client, instance } = await closable(space.store)
    const stop = new AbortController()
    const { signal } = stop
    const pending = Array.from({ length: 20 }, () => instance.result({ signal, timeout: '1h' }))
    await client.get(instance.id).info()

    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    stop.abort(new Error('enough'))

    for (const wait of pending) await expect(wait).rejects.toThrow('enough')
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    await client.close()
  })
})

describe('waiting where hints arrive', () => {
  const WAITING = 200

  /** What waiting costs the store in ten seconds: how many statements, and how many looks in them. */
  async function costOf(wait: (instance: Instance) => Promise<unknown>) {
    await using under = await openSqlite()
    const { store } = under
    const clock = virtualClock()
    let cost = { statements: 0, looks: 0 }
    let looking: Promise<unknown> = Promise.resolve()
    const counted = withMethods(store, {
      hints: store.hints,
      look(iids) {
        cost.statements++
        cost.looks += iids.length
        const rows = store.look(iids)
        looking = Promise.all([looking, rows])
        return rows
      },
    })
    const values = valuesOf(undefined)
    const setup = { store: counted, values, clock, log: silentLog, runtime: undefined }
    const client = new EngineClient(setup)
    for (let i = 0; i < WAITING; i++) {
      const instance = await client.start(waits)
      wait(instance).catch(() => {})
      await clock.advance(5)
      await looking
    }
    cost = { statements: 0, looks: 0 }
    for (let ms = 0; ms < 10_000; ms += 50) {
      await clock.advance(50)
      await looking
    }
    const spent = cost
    await client.close()
    return spent
  }

  test('watches and waits for results share their polling', async () => {
    const results = await costOf((instance) => instance.result())
    const watches = await costOf(async (instance) => {
      for await (const _ of instance.watch());
    })

    for (const { statements, looks } of [results, watches]) {
      expect(looks).toBeGreaterThan(WAITING)
      expect(looks).toBeLessThanOrEqual(4 * WAITING)
      expect(statements).toBeLessThanOrEqual(WAITING / 2)
    }
  })
})
