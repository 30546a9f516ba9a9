import { crashEverywhere, openTest, runActivity, type TestRuntime } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { charge, fulfil } from './workflow.ts'

const TABLES = `
  create table accounts (owner text primary key, cents integer not null);
  create table payments (id text primary key, cents integer not null);
  insert into accounts values ('ada', 5000), ('ben', 100);
`
const order = { id: 'order-1', buyer: 'ada', cents: 2000 }

const rowsOf = (t: Pick<TestRuntime, 'database'>, table: string): unknown[] =>
  t.database.prepare(`select * from ${table}`).all()

describe('an order', () => {
  test('is paid, and the payment is recorded', async () => {
    await using t = await openTest({ register: fulfil })
    t.database.exec(TABLES)

    expect(await t.run(fulfil, order)).toBe('sent for 2000')
    expect(rowsOf(t, 'payments')).toEqual([{ id: 'order-1', cents: 2000 }])
  })

  test('that cannot be paid leaves no payment, and is not tried again', async () => {
    await using t = await openTest({ register: fulfil })
    t.database.exec(TABLES)

    await expect(t.run(fulfil, { ...order, buyer: 'ben' })).rejects.toThrow('ben has not enough')
    expect(rowsOf(t, 'payments')).toEqual([])
    expect(t.callsOf(charge)).toHaveLength(1)
  })

  test('is paid exactly once, whatever crashes', async () => {
    const { runs } = await crashEverywhere(() => ({
      register: fulfil,
      scenario: async (t) => {
        t.database.exec(TABLES)
        t.database.exec('begin immediate')
        await t.in(t.database).start(fulfil, order, { id: order.id })
        t.database.exec('commit')
        return t.get(fulfil, order.id).result()
      },
      check: (_, t) => {
        expect(rowsOf(t, 'accounts')).toContainEqual({ owner: 'ada', cents: 3000 })
        expect(rowsOf(t, 'payments')).toHaveLength(1)
      },
    }))

    expect(runs).toBeGreaterThan(2)
  })
})

test('a charge by itself is rolled back when it throws', async () => {
  await using t = await openTest({ register: fulfil })
  t.database.exec(TABLES)
  const { database } = t

  await expect(runActivity(charge, { ...order, cents: 9000 }, { database })).rejects.toThrow(
    'ada has not enough',
  )
  expect(rowsOf(t, 'payments')).toEqual([])
})
