import { expect, expectTypeOf, test } from 'vitest'
import { activity, type Schema } from '../../src/index.ts'
import { transaction as postgresTransaction } from '../../src/postgres/index.ts'
import { transaction } from '../../src/sqlite/index.ts'
import { openTest, runActivity } from '../../src/testing/index.ts'
import { workflow } from '../../src/index.ts'

const numeric: Schema<string, number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const parsed = Number(value)
      return Number.isNaN(parsed) ? { issues: [{ message: 'no number' }] } : { value: parsed }
    },
  },
}

test('an activity sees the attempt, the key, and what the last one reported', async () => {
  const load = activity('load', async (rows: number, ctx) => {
    for (let row = (ctx.lastHeartbeat as number) + 1; row <= rows; row++) ctx.heartbeat(row)
    return { attempt: ctx.attempt, key: ctx.idempotencyKey, at: new Date(0) }
  })

  const run = await runActivity(load, 5, { attempt: 2, lastHeartbeat: 2, idempotencyKey: 'k' })

  expect(run).toEqual({ output: { attempt: 2, key: 'k', at: new Date(0) }, heartbeats: [3, 4, 5] })
  expectTypeOf(run.output.attempt).toEqualTypeOf<number>()
})

test('a signal aborts it', async () => {
  const wait = activity('wait', async (_: string, { signal }): Promise<string> => {
    await new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    )
    return 'never'
  })
  const controller = new AbortController()
  const run = runActivity(wait, 'x', { signal: controller.signal })

  controller.abort(new Error('enough'))

  await expect(run).rejects.toThrow('enough')
})

test('its input passes its schema', async () => {
  const double = activity('double', { input: numeric }, async (n) => n * 2)

  expect((await runActivity(double, '21')).output).toBe(42)
  await expect(runActivity(double, 'x')).rejects.toThrow(
    'activity "double": its input is not valid: $: no number',
  )
})

test('what cannot be stored is refused as in production', async () => {
  const make = activity<string, () => number>('make', async () => () => 1)

  await expect(runActivity(make, 'x')).rejects.toThrow('activity "make": its result')
})

test('a transaction gets a real database, and is rolled back when it throws', async () => {
  await using t = await openTest({ register: workflow('unused', async () => 1) })
  t.database.exec('create table ledger (cents integer)')
  const book = transaction('book', (cents: number, { tx }) => {
    tx.run('insert into ledger values (?)', cents)
    if (cents < 0) throw new Error('negative')
    return tx.all('select sum(cents) as sum from ledger')
  })

  const { output } = await runActivity(book, 5, { database: t.database })
  await expect(runActivity(book, -1, { database: t.database })).rejects.toThrow('negative')

  expect(output).toEqual([{ sum: 5 }])
  expect(t.database.prepare('select count(*) as n from ledger').get()).toEqual({ n: 1 })
})

test('a transaction without a database gets an empty one', async () => {
  const version = transaction('version', (_: string, { tx }) => tx.all('select 1 as one'))

  expect((await runActivity(version, 'x')).output).toEqual([{ one: 1 }])
})

test('mistakes are named', async () => {
  const contract = activity<string, string>('contract')
  const elsewhere = postgresTransaction<string, number>('book', async () => 1)
  const asks = activity('asks', async (_: string, { client }) => client.get('x').id)

  await expect(runActivity(contract, 'x')).rejects.toThrow('activity "contract" is a contract')
  await expect(runActivity(elsewhere, 'x')).rejects.toThrow('needs a PostgreSQL server')
  await expect(runActivity(asks, 'x')).rejects.toThrow('give runActivity a client')
  // @ts-expect-error unknown option
  await expect(runActivity(asks, 'x', { atempt: 2 })).rejects.toThrow('did you mean "attempt"')
})
