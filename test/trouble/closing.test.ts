// Closing on a network that swallows everything. What is waited for is bounded; before an answer is
// given up elsewhere, a minute passes.

import { describe, expect, test } from 'vitest'

import { postgresUrl, testSchema } from '../support/postgres.ts'
import { silentLog } from '../../src/base/log.ts'
import { activity, connect, open, workflow } from '../../src/index.ts'
import { postgresProxy } from '../../src/testing/index.ts'
import { postgres } from '../../src/postgres/index.ts'

const BOUND_MS = 15_000
const LIMIT_MS = 40_000

const endless = activity('endless', async (_: undefined, { signal }) => {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
})
const order = workflow('order', async (_: undefined, ctx) => ctx.run(endless))

describe.concurrent('on a network that swallows everything', () => {
  test(
    'a runtime with work under way closes soon after its drain time',
    { timeout: LIMIT_MS },
    async () => {
      await using database = await testSchema()
      await using proxy = await postgresProxy(postgresUrl())
      const store = postgres({ url: proxy.url, schema: database.schema })
      const runtime = await open(store, { register: order, log: silentLog })
      await runtime.start(order)

      proxy.stall()
      const begunMs = performance.now()
      const closed = runtime.close({ drain: 100 })

      await expect(closed).rejects.toMatchObject({ name: 'StoreError', code: 'connection_lost' })
      expect(performance.now() - begunMs).toBeLessThan(100 + BOUND_MS)
    },
  )

  test('a client closes, and its pending calls fail', { timeout: LIMIT_MS }, async () => {
    await using database = await testSchema()
    await using proxy = await postgresProxy(postgresUrl())
    const store = postgres({ url: proxy.url, schema: database.schema })
    const client = connect(store, { log: silentLog })
    await client.start(order)

    proxy.stall()
    const begunMs = performance.now()
    const asked = client.start(order).catch((error: unknown) => error)
    // What is asked for leaves at the end of this turn of the event loop.
    await new Promise(setImmediate)
    await client.close()

    expect(performance.now() - begunMs).toBeLessThan(BOUND_MS)
    // It is sent again when the connection is lost, and then the store is closed.
    expect(await asked).toMatchObject({ name: 'StoreError', code: 'closed' })
  })
})
