import { expect, test } from 'vitest'

import { silentLog } from '../../src/base/log.ts'
import { connect, NotFoundError, open, stateKey, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/store.ts'
import { openDatabase } from '../../src/sqlite/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'

const total = stateKey<number>('total')
const brief = workflow('brief', { retention: '1s' }, async (n: number, ctx) => {
  ctx.state.set(total, n)
  return n
})
const lasting = workflow('lasting', async (n: number) => n)

test.concurrent.each(['sqlite', 'postgres'])(
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

test.concurrent.each(['sqlite', 'postgres'])(
  'the retention of open is that of workflows without their own, also for what ended before: %s',
  async (kind) => {
    await using database = await testSchema()
    using file = tempFile()
    const { url, schema } = database
    const store = (): Parameters<typeof open>[0] =>
      kind === 'sqlite' ? `file:${file.path}` : postgres({ url, schema })
    const kept = workflow('kept', { retention: '1h' }, async (n: number) => n)
    const counts = workflow('counts', async (n: number, ctx): Promise<number> => {
      if (n < 3) return ctx.continueAsNew(n + 1)
      await ctx.sleep('1h')
      return n
    })
    {
      await using before = await open(store(), { register: [lasting, kept, counts] })
      await before.run(lasting, 1, { id: 'earlier' })
      await before.run(kept, 2, { id: 'kept' })
      const counting = await before.start(counts, 1, { id: 'counts' })
      await eventually(async () => (await counting.info())?.execution === 3)
    }

    await using runtime = await open(store(), {
      register: [lasting, kept, counts],
      retention: '1s',
    })
    await runtime.run(lasting, 3, { id: 'later' })

    await eventually(async () => (await runtime.list({ workflow: lasting })).items.length === 0)
    await eventually(async () => (await runtime.admin.executions('counts')).length === 1)
    expect(await runtime.get('kept').info()).toMatchObject({ status: 'completed' })
    expect(await runtime.get('counts').info()).toMatchObject({ status: 'running', execution: 3 })
  },
)

test.concurrent.each([
  ['soon', /workflow "order": retention must be a number of milliseconds or a string such as/],
  [500, /workflow "order": retention must be at least 1000 ms, got 500/],
])('a retention of %s is refused', (retention, message) => {
  const define = (): unknown => workflow('order', { retention: retention as '1m' }, async () => {})

  expect(define).toThrow(message)
})

test.concurrent.each(['sqlite', 'postgres'])(
  'whatever removes instances under a limit leaves no row behind: %s',
  async (kind) => {
    await using database = await testSchema()
    using file = tempFile()
    const { url, schema } = database
    const store = kind === 'sqlite' ? `file:${file.path}` : postgres({ url, schema })
    const limited = workflow(
      'limited',
      { retention: '1s', limit: { concurrency: 1, key: (key: string) => key } },
      async (key: string, ctx) => {
        if (key === 'waits') await ctx.sleep('1h')
        if (key === 'fails') throw new Error('as it should')
      },
    )
    await using runtime = await open(store, { register: limited, log: silentLog })
    const labels = { a: 'label' }
    for (const key of ['fails', 'ends', 'waits', 'waits', 'waits']) {
      await runtime.start(limited, key, { labels })
    }
    await eventually(async () => (await runtime.admin.count()) === 3)
    expect(await runtime.admin.cancel({ status: 'scheduled' })).toBe(2)
    expect(await runtime.admin.delete({ workflow: limited }, { force: true })).toBeGreaterThan(0)
    await eventually(async () => (await runtime.admin.count()) === 0)

    const tables = ['instances', 'runs', 'history', 'inbox', 'admissions', 'labels', 'unsuccessful']
    for (const table of tables) {
      const sql = `select * from ${table}`
      const rows = kind === 'postgres' ? await database.query(sql) : readFile(file.path, sql)
      expect({ table, rows }).toEqual({ table, rows: [] })
    }
  },
)

function readFile(path: string, sql: string): unknown[] {
  const db = openDatabase({ path })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}
