import { expect, test } from 'vitest'

import { connect, NotFoundError, open, stateKey, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/store.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'

const total = stateKey<number>('total')
const brief = workflow('brief', { retention: '1s' }, async (n: number, ctx) => {
  ctx.state.set(total, n)
  return n
})
const lasting = workflow('lasting', async (n: number) => n)

test.each(['sqlite', 'postgres'])(
  'a runtime removes instances whose retention is over, and no others: %s',
  async (kind) => {
    await using database = await testSchema()
    using file = tempFile()
    const { url, schema } = database
    const store = (): Parameters<typeof open>[0] =>
      kind === 'sqlite' ? `file:${file.path}` : postgres({ url, schema })
    await using runtime = await open(store(), { register: [brief, lasting] })
    await using client = connect(store())

    await runtime.run(lasting, 1, { id: 'kept' })
    await runtime.run(brief, 2, { id: 'gone' })

    await eventually(async () => (await client.get('gone').info()) === undefined)
    expect(await client.get('kept').info()).toMatchObject({ status: 'completed' })
    await expect(client.get('gone').readState(total)).rejects.toThrow(NotFoundError)
    expect(await runtime.run(brief, 3, { id: 'gone' })).toBe(3)
  },
)

test.each([
  ['soon', /workflow "order": retention must be milliseconds/],
  [500, /workflow "order": retention must be at least 1000 ms, got 500/],
])('a retention of %s is refused', (retention, message) => {
  const define = (): unknown => workflow('order', { retention: retention as '1m' }, async () => {})

  expect(define).toThrow(message)
})
