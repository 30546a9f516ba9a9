import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import {
  type Activity,
  activity,
  type InputOf,
  type OutputOf,
  type ParsingActivity,
  type Schema,
  workflow,
} from '../../src/index.ts'
import { transaction as postgresTransaction } from '../../src/postgres/index.ts'
import { transaction } from '../../src/sqlite/index.ts'
import { openTest, runActivity, stub, stubStep } from '../../src/testing/index.ts'
import { copyValue } from '../../src/testing/kit/copy-value.ts'

interface Order {
  readonly id: string
  readonly total: number
}

const order: Order = { id: 'o1', total: 5 }

describe('a stub replaces', () => {
  test('an activity that the workflow calls with its own code', async () => {
    const charge = activity<Order, string>('charge', async () => {
      throw new Error('the real one ran')
    })
    const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
    await using t = await openTest({
      register: pay,
      stubs: [stub(charge, ({ id, total }) => `${id}: ${total}`)],
    })

    expect(await t.run(pay, order)).toBe('o1: 5')
  })

  test('a contract without code', async () => {
    const charge = activity<Order, string>('charge')
    const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
    await using t = await openTest({ register: pay, stubs: [stub(charge, ({ id }) => id)] })

    expect(await t.run(pay, order)).toBe('o1')
  })

  test('a contract whose implementation is registered', async () => {
    const charge = activity<Order, string>('charge')
    const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
    const real = charge.implement(() => 'real', { retry: { maxAttempts: 7, delay: 0 } })
    let attempts = 0
    await using t = await openTest({
      register: [pay, real],
      stubs: [
        stub(charge, () => {
          if (++attempts < 7) throw new Error('busy')
          return 'stub'
        }),
      ],
    })

    expect(await t.run(pay, order)).toBe('stub')
    expect(t.callsOf(charge).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test.each([
    transaction<Order, string>('charge', () => 'real'),
    postgresTransaction<Order, string>('charge', async () => 'real'),
  ])('a transaction, also of another store', async (charge) => {
    const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
    await using t = await openTest({ register: pay, stubs: [stub(charge, ({ id }) => id)] })

    expect(await t.run(pay, order)).toBe('o1')
  })

  test('an activity that runs as a task, because it has a limit or a tag', async () => {
    const charge = activity(
      'charge',
      { limit: { concurrency: 1 } },
      async ({ id }: Order) => `real ${id}`,
    )
    const print = activity('print', { tag: 'printer' }, async ({ id }: Order) => `real ${id}`)
    const pay = workflow('pay', async (input: Order, ctx) => [
      await ctx.run(charge, input),
      await ctx.run(print, input),
    ])
    await using t = await openTest({
      register: pay,
      stubs: [stub(charge, () => 'charged'), stub(print, () => 'printed')],
    })

    expect(await t.run(pay, order)).toEqual(['charged', 'printed'])
  })

  test('an activity by its name, with code or without', async () => {
    const charge = activity<Order, string>('charge', async () => 'real')
    const ship = activity<string, string>('ship')
    const pay = workflow('pay', async (input: Order, ctx) =>
      ctx.run(ship, await ctx.run(charge, input)),
    )
    await using t = await openTest({
      register: pay,
      stubs: [
        stub('charge', ({ id, total }: Order) => `${id}: ${total}`),
        stub('ship', (receipt, ctx) => `${String(receipt)}, attempt ${ctx.attempt}`),
      ],
    })

    expect(await t.run(pay, order)).toBe('o1: 5, attempt 1')
    expect(t.callsOf(charge)).toHaveLength(1)
  })

  test('a step, by its name', async () => {
    const pay = workflow('pay', async (input: Order, ctx) => ctx.step('charge', () => input.id))
    await using t = await openTest({ register: pay, stubs: [stubStep('charge', () => 'stub')] })

    expect(await t.run(pay, order)).toBe('stub')
  })
})

test('calls say what ran with what, stubbed or not', async () => {
  const charge = activity('charge', async ({ total }: Order) => total)
  const ship = activity('ship', async (to: string) => `to ${to}`)
  const pay = workflow('pay', async (input: Order, ctx) => {
    await ctx.run(charge, input)
    await ctx.step('label', () => 1)
    return ctx.run(ship, 'kim')
  })
  await using t = await openTest({ register: pay, stubs: [stub(ship, () => 'shipped')] })

  const id = 'order-1'
  await t.run(pay, order, { id })

  expect(t.calls).toEqual([
    { activity: 'charge', input: order, attempt: 1 },
    { activity: 'label', input: undefined, attempt: 1 },
    { activity: 'ship', input: 'kim', attempt: 1 },
  ])
  const [call] = t.callsOf(ship)
  expect(call).toMatchObject({ input: 'kim', output: 'shipped', instanceId: id })
  expectTypeOf(call!.input).toEqualTypeOf<string>()
  expectTypeOf(call!.output).toEqualTypeOf<string | undefined>()
})

test('calls keep the input and the output as they were, whatever code does to them later', async () => {
  const bought = { items: ['pen'], at: new Date(0) }
  const receipt = { cents: [5] }
  const charge = activity<typeof bought, typeof receipt>('charge')
  const pay = workflow('pay', async (input: typeof bought, ctx) => ctx.run(charge, input))
  const changes = stub(charge, (input) => {
    input.items.push('ink')
    input.at.setTime(5)
    return receipt
  })
  await using t = await openTest({ register: pay, stubs: [changes] })

  await t.run(pay, bought)
  receipt.cents.push(6)

  expect(t.calls[0]!.input).toEqual(bought)
  expect(t.callsOf(charge)[0]).toMatchObject({ input: bought, output: { cents: [5] } })
})

test('the copy that calls keep has the shape of the original', () => {
  class Point {
    x = 1
  }
  const own = { point: new Point(), map: new Map([['k', { n: 1 }]]), set: new Set([[1]]) }
  const value = { ...own, bytes: new Uint8Array([1, 2]), at: new Date(7), nothing: null, self: {} }
  value.self = value

  const copied = copyValue(value) as typeof value

  expect(copied).toEqual(value)
  expect(copied.self).toBe(copied)
  expect(copied.point).toBe(value.point)
  expect(copied.map.get('k')).not.toBe(value.map.get('k'))
  expect(copied.bytes).not.toBe(value.bytes)
})

test('calls are found by the name of an activity as well, and by nothing else', async () => {
  const charge = activity('charge', async ({ total }: Order) => total)
  const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
  await using t = await openTest({ register: pay })

  await t.run(pay, order)

  const [call] = t.callsOf<Order, number>('charge')
  expect(call).toMatchObject({ input: order, output: 5 })
  expectTypeOf(call!.input).toEqualTypeOf<Order>()
  expectTypeOf(t.callsOf('charge')[0]!.input).toEqualTypeOf<unknown>()
  // @ts-expect-error not an activity
  expect(() => t.callsOf(pay)).toThrow(
    'callsOf: needs an activity or the name of one, got workflow "pay"',
  )
  // @ts-expect-error not an activity
  expect(() => t.callsOf(undefined)).toThrow('got undefined')
})

test('a stub that nothing calls fails the test, with what was called instead', async () => {
  const charge = activity<Order, number>('charge', async () => 1)
  const other = activity<Order, number>('chrage', async () => 1)
  const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
  const t = await openTest({
    register: pay,
    stubs: [
      stub(other, () => 2),
      stub(
        activity('rare', async () => 1),
        () => 2,
        { optional: true },
      ),
    ],
  })

  await t.run(pay, order)

  await expect(t.close()).rejects.toThrow(
    'activity "chrage" was stubbed, and never called (what was called: activity "charge"). Fix the name',
  )
})

test('a stub by a name that nothing calls fails the test, and the error says that it is a step', async () => {
  const pay = workflow('pay', async (input: Order, ctx) => ctx.step('charge', () => input.id))
  const t = await openTest({ register: pay, stubs: [stub('charge', () => 'stub')] })

  await t.run(pay, order)

  await expect(t.close()).rejects.toThrow(
    'activity "charge" was stubbed, and never called (what was called: step "charge"; "charge" is a step: ' +
      'use stubStep). Fix the name, remove the stub, or give it { optional: true }',
  )
})

test('calls of an activity do not contain those of a step with its name', async () => {
  const charge = activity('charge', async ({ total }: Order) => total)
  const pay = workflow('pay', async (input: Order, ctx) => {
    await ctx.step('charge', () => 'in a step')
    return ctx.run(charge, input)
  })
  await using t = await openTest({ register: pay })

  await t.run(pay, order)

  expect(t.callsOf(charge).map(({ output }) => output)).toEqual([5])
})

test('a stub is checked against the types of its activity', () => {
  const charge = activity<Order, string>('charge', async () => 'receipt')
  stub(charge, (input) => {
    expectTypeOf(input).toEqualTypeOf<Order>()
    return ''
  })
  // @ts-expect-error a receipt is a string
  stub(charge, () => 1)
  // @ts-expect-error not an activity
  expect(() => stub(1, () => 1)).toThrow('stub: needs an activity or the name of one, got 1')
})

/** A function of a user that defines activities of any type. */
const defined = <In, Out, Parsed>(
  input: Schema<In, Parsed>,
  run: (parsed: Parsed) => Promise<Out>,
): Activity<In, Out> => activity('made', { input }, run)

describe('an activity whose schema changes the type of its input', () => {
  const toDate: Schema<string, Date> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => ({ value: new Date(value as string) }),
    },
  }
  const remind = activity('remind', { input: toDate }, async (when) => when.getTime())
  const plan = workflow('plan', async (when: string, ctx) => ctx.run(remind, when))

  test('shows a stub and calls what the schema made', async () => {
    const stubbed = stub(remind, (when) => {
      expectTypeOf(when).toEqualTypeOf<Date>()
      return when.getTime() + 1
    })
    await using t = await openTest({ register: plan, stubs: [stubbed] })

    expect(await t.run(plan, '1970-01-01T00:00:05Z')).toBe(5_001)
    const [call] = t.callsOf(remind)
    expectTypeOf(call!.input).toEqualTypeOf<Date>()
    expectTypeOf(call!.output).toEqualTypeOf<number | undefined>()
    expect(call!.input).toEqual(new Date(5_000))
  })

  test('is called with what the schema takes, and without a schema it has a plain type', async () => {
    const given: Activity<string, number> = remind

    expectTypeOf<InputOf<typeof remind>>().toEqualTypeOf<string>()
    expectTypeOf<OutputOf<typeof remind>>().toEqualTypeOf<number>()
    expectTypeOf(remind).toEqualTypeOf<ParsingActivity<string, number, Date>>()
    expectTypeOf(activity('a', { timeout: '1h' }, (n: number) => `${n}`)).toEqualTypeOf<
      Activity<number, string>
    >()
    expectTypeOf(
      activity('b', { limit: { concurrency: 1, key: (n) => `${n}` } }, (n: number) => n),
    ).toEqualTypeOf<Activity<number, number>>()
    expectTypeOf(defined(toDate, async (when) => when.getTime())).toEqualTypeOf(given)
    expect((await runActivity(given, '1970-01-01T00:00:05Z')).output).toBe(5_000)
    // @ts-expect-error it is called with text
    void (() => runActivity(remind, new Date()))
    // @ts-expect-error its code gets a date
    stub(remind, (when: string) => when.length)
  })
})

test('an activity in place of a stub is refused, by its type as well', async () => {
  const charge = activity<Order, string>('charge', async () => 'the real one ran')
  const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))

  // @ts-expect-error not a stub
  await expect(openTest({ register: pay, stubs: [charge] })).rejects.toThrow(
    'openTest: stubs must be made by stub() or stubStep(), got activity "charge"',
  )
  // @ts-expect-error not a stub
  await expect(openTest({ register: pay, stubs: ['charge'] })).rejects.toThrow('got "charge"')
})

test('two stubs of one activity are refused', async () => {
  const charge = activity<Order, number>('charge', async () => 1)
  const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
  const stubs = [stub(charge, () => 1), stub(charge, () => 2)]

  await expect(openTest({ register: pay, stubs })).rejects.toThrow(
    'openTest: two stubs of activity "charge"',
  )
})

test('a stub that a failed workflow might have called is a warning, which hides no other error', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const charge = activity<Order, number>('charge', async () => {
    throw new Error('no bank')
  })
  const pay = workflow('pay', async (input: Order, ctx) => ctx.run(charge, input))
  const t = await openTest({ register: pay, stubs: [stub('chrage', () => 2)] })

  await expect(t.run(pay, order)).rejects.toThrow('no bank')
  await t.close()

  expect(warned.mock.calls).toEqual([
    [expect.stringMatching(/^activity "chrage" was stubbed, and never called \(what was called:/)],
  ])
  warned.mockRestore()
})

test('a test that ends before it starts anything says nothing of its stubs', async () => {
  const pay = workflow('pay', async () => 1)
  const t = await openTest({ register: pay, stubs: [stub('charge', () => 2)] })

  await expect(t.close()).resolves.toBeUndefined()
})
