import { describe, expect, test } from 'vitest'

import { testSchema } from '../support/postgres.ts'
import { silentLog } from '../../src/base/log.ts'
import { channel, type Client, connect, open, request, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'

const news = channel<unknown>('news')
const question = request<unknown, string>('question')
const order = workflow('order', async (_: unknown, ctx) => {
  await ctx.receive(news)
})

class Point {
  readonly x = 1
}
const circle: { readonly list: unknown[] } = { list: [1] }
circle.list.push(circle)

const REFUSED: readonly (readonly [string, unknown, string])[] = [
  ['a function', { a: [1, () => 1] }, 'cannot store a function at $.a[1]'],
  ['a symbol', { s: Symbol('x') }, 'cannot store a symbol at $.s'],
  ['a cycle', circle, 'cannot store a cycle at $.list[1]; it leads back to $'],
  [
    'an instance of a class',
    { list: [{ at: new Point() }] },
    'cannot store an instance of Point at $.list[0].at; convert it to plain data',
  ],
  ['a promise', { p: Promise.resolve(1) }, 'cannot store a Promise at $.p; did you forget await?'],
]

const KINDS = ['a runtime on SQLite', 'a runtime on PostgreSQL', 'a client on PostgreSQL'] as const

/** A client of a fresh store. */
async function openClient(
  kind: (typeof KINDS)[number],
): Promise<AsyncDisposable & { readonly client: Client }> {
  const database = kind === 'a runtime on SQLite' ? undefined : await testSchema()
  const store =
    database === undefined
      ? 'memory:'
      : postgres({ url: database.url, schema: database.schema, notify: 'off' })
  const client =
    kind === 'a client on PostgreSQL'
      ? connect(store, { log: silentLog })
      : await open(store, { register: order, log: silentLog })
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close()
      await database?.[Symbol.asyncDispose]()
    },
  }
}

describe.each(KINDS)('by %s', (kind) => {
  test.each(REFUSED)('%s is refused by its path, and nothing is stored', async (_, bad, words) => {
    await using opened = await openClient(kind)
    const { client } = opened
    const live = await client.start(order, 1, { id: 'live' })

    await expect(client.start(order, bad, { id: 'bad' })).rejects.toThrow(
      `workflow "order": its input: ${words}`,
    )
    await expect(live.send(news, bad)).rejects.toThrow(`channel "news": the message: ${words}`)
    await expect(client.get('early').send(news, bad)).rejects.toThrow(words)
    await expect(live.request(question, bad)).rejects.toThrow(words)

    expect(await client.get('bad').info()).toBeUndefined()
    expect(await client.get('early').info()).toBeUndefined()
  })
})
