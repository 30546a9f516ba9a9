import { describe, expect, test } from 'vitest'
import { activity, channel, workflow } from '../../src/index.ts'
import { transaction } from '../../src/sqlite/index.ts'
import { crashEverywhere, openTest, stub, type TestRuntime } from '../../src/testing/index.ts'
import { crashPoints } from '../../src/testing/kit/crash-points.ts'

const charge = activity<number, string>('charge')
const ship = activity<string, string>('ship')
const paid = channel<number>('paid')

const checkout = workflow('checkout', async (cents: number, ctx) => {
  const receipt = await ctx.run(charge, cents)
  await ctx.sleep('2d')
  return ctx.run(ship, receipt)
})

describe('crash', () => {
  test('between two calls: what is recorded does not run again', async () => {
    await using t = await openTest({
      register: checkout,
      stubs: [stub(charge, (cents) => `r-${cents}`), stub(ship, (receipt) => `shipped ${receipt}`)],
    })

    const order = await t.start(checkout, 5)
    await t.settle()
    await t.crash()

    expect(await order.result()).toBe('shipped r-5')
    expect(t.calls.map(({ activity: name }) => name)).toEqual(['charge', 'ship'])
  })

  test('inside an activity: its effect is there, and it runs again with the same key', async () => {
    const keys: string[] = []
    const holder: { t?: TestRuntime } = {}
    await using t = await openTest({
      register: checkout,
      stubs: [
        stub(charge, async (cents, ctx) => {
          keys.push(ctx.idempotencyKey)
          if (keys.length === 1) await holder.t!.crash()
          return `r-${cents}`
        }),
        stub(ship, (receipt) => receipt),
      ],
    })
    holder.t = t

    expect(await t.run(checkout, 5)).toBe('r-5')
    expect(keys).toEqual([keys[0], keys[0]])
  })

  test('while a message waits, and while the test waits for the result', async () => {
    const waits = workflow('waits', async (_, ctx) => {
      const first = await ctx.receive(paid)
      return first + (await ctx.receive(paid))
    })
    await using t = await openTest({ register: waits })

    const one = await t.start(waits)
    const result = one.result()
    await one.send(paid, 1)
    await t.settle()
    await t.crash()
    await one.send(paid, 2)

    expect(await result).toBe(3)
  })

  test('shows code that reads the time between two dates another one', async () => {
    const reminds = workflow('reminds', async (_, ctx) => {
      const began = new Date()
      await ctx.sleep('2d')
      return new Date().getTime() - began.getTime() === 2 * 86_400_000
    })
    await using t = await openTest({ register: reminds })

    expect(await t.run(reminds)).toBe(true)
    const crashed = await t.start(reminds)
    await t.advance('1d')
    await t.crash()
    expect(await crashed.result()).toBe(false)
  })
})

test.each(['crash', 'advance', 'settle', 'idle'] as const)(
  'after the end of the test, %s is refused',
  async (method) => {
    const t = await openTest({ register: checkout })
    await t.close()

    await expect(t[method]('1d')).rejects.toThrow(`${method}: the test runtime is closed`)
  },
)

/** A bank that knows idempotency keys, and one that does not. */
const bank = () => {
  const charges = new Map<string, number>()
  const receipts: string[] = []
  return {
    charges,
    receipts,
    idempotent: stub(charge, (cents, ctx) => {
      charges.set(ctx.idempotencyKey, cents)
      return `r-${cents}`
    }),
    careless: stub(charge, (cents) => {
      receipts.push(`r-${cents}`)
      return `r-${cents}`
    }),
  }
}

describe('crashEverywhere', () => {
  test('passes a workflow whose activities are idempotent', async () => {
    const report = await crashEverywhere(() => {
      const { charges, idempotent } = bank()
      return {
        register: checkout,
        stubs: [idempotent, stub(ship, (receipt) => `shipped ${receipt}`)],
        scenario: (t) => t.run(checkout, 5),
        check: () => expect([...charges.values()]).toEqual([5]),
      }
    })

    expect(report.writes).toBeGreaterThanOrEqual(4)
    expect(report.runs).toBe(2 * report.writes)
  })

  test('finds an activity that is not, and names the point and the line', async () => {
    const run = crashEverywhere(() => {
      const { receipts, careless } = bank()
      return {
        register: checkout,
        stubs: [careless, stub(ship, (receipt) => `shipped ${receipt}`)],
        scenario: (t) => t.run(checkout, 5),
        check: () => expect(receipts).toEqual(['r-5']),
      }
    })

    await expect(run).rejects.toThrow(
      /^crashEverywhere: with a crash before write \d of \d \(the result of activity "charge" at .*crash\.test\.ts:12:\d+\).*\): expected/s,
    )
  })

  test.each<['before' | 'after', string]>([
    ['before', String.raw`  1\. the call .*\n  ! crash before the result .*\n  2\. the result`],
    ['after', String.raw`  1\. the call .*\n  ! crash\n  2\. the result`],
  ])('lists what was written, and a crash %s a write at its place', async (when, lines) => {
    let runs = 0
    const run = crashEverywhere(() => ({
      register: checkout,
      stubs: [stub(charge, () => 'receipt'), stub(ship, () => 'shipped')],
      scenario: (t) => t.run(checkout, 5),
      // The second run crashes before the first write, the third after it, the fourth before the second.
      check: () => expect(++runs).toBeLessThan(when === 'before' ? 4 : 3),
    }))

    await expect(run).rejects.toThrow(
      new RegExp(`with a crash ${when} write .*It wrote:\n${lines}`, 's'),
    )
  })

  test('is what finds it: without a crash, the same scenario passes', async () => {
    const { receipts, careless } = bank()
    const stubs = [careless, stub(ship, (receipt) => `shipped ${receipt}`)]
    await using t = await openTest({ register: checkout, stubs, replay: 'always' })

    await t.run(checkout, 5)

    expect(receipts).toEqual(['r-5'])
  })

  test('a transaction is exactly once', async () => {
    const book = transaction('book', (cents: number, { tx }) => {
      tx.run('insert into ledger values (?)', cents)
      return cents
    })
    const twice = workflow('twice', async (cents: number, ctx) => {
      const first = await ctx.run(book, cents)
      await ctx.sleep('1d')
      return first + (await ctx.run(book, cents))
    })

    const report = await crashEverywhere(() => ({
      register: twice,
      scenario: async (t) => {
        t.database.exec('create table ledger (cents integer)')
        return t.run(twice, 5)
      },
      check: (result, t) => {
        expect(result).toBe(10)
        expect(t.database.prepare('select count(*) as n from ledger').get()).toEqual({ n: 2 })
      },
    }))

    expect(report.runs).toBeGreaterThan(6)
  })

  test('messages and children survive', async () => {
    const child = workflow('child', async (n: number, ctx) => {
      await ctx.sleep('1d')
      return n * 2
    })
    const parent = workflow('parent', async (_, ctx) => {
      const [first, second] = await ctx.all([ctx.run(child, 1), ctx.receive(paid)])
      await ctx.run(charge, first + second)
      return first + second
    })

    const report = await crashEverywhere(() => {
      const { charges, idempotent } = bank()
      return {
        register: [parent, child],
        stubs: [idempotent],
        scenario: async (t) => {
          const one = await t.start(parent, undefined, { id: 'p' })
          await one.send(paid, 40)
          return one.result()
        },
        check: () => expect([...charges.values()]).toEqual([42]),
      }
    })

    expect(report.runs).toBeGreaterThan(10)
  })

  test('runs nothing any more once it has failed', async () => {
    const runs = { begun: 0, ended: 0 }
    const failing = crashEverywhere(
      () => {
        const { receipts, careless } = bank()
        return {
          register: checkout,
          stubs: [careless, stub(ship, (receipt) => `shipped ${receipt}`)],
          scenario: async (t) => {
            runs.begun++
            const result = await t.run(checkout, 5)
            runs.ended++
            return result
          },
          check: () => expect(receipts).toHaveLength(1),
        }
      },
      { concurrency: 4 },
    )

    await expect(failing).rejects.toThrow('crashEverywhere: with a crash')
    const { begun } = runs
    await new Promise((resolve) => setTimeout(resolve, 100))

    expect(runs).toEqual({ begun, ended: begun })
  })

  test('spreads a bounded number of runs over all points', async () => {
    const report = await crashEverywhere(
      () => ({
        register: checkout,
        stubs: [bank().idempotent, stub(ship, () => 'x')],
        scenario: (t) => t.run(checkout, 5),
      }),
      { maxRuns: 3, concurrency: 2 },
    )

    expect(report.runs).toBe(3)
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 19, 20, 25])(
    'spreads %i runs over the writes, before and after them alike',
    (max) => {
      const points = crashPoints(10, max)

      expect(points).toHaveLength(Math.min(20, max))
      expect(new Set(points.map(({ write, when }) => `${when} ${write}`)).size).toBe(points.length)
      expect(new Set(points.map(({ write }) => write)).size).toBe(Math.min(10, max))
      const before = points.filter(({ when }) => when === 'before').length
      expect(Math.abs(before - (points.length - before))).toBeLessThanOrEqual(1)
    },
  )

  test('a scenario may be made asynchronously, and one that is missing is named', async () => {
    const stubs = [bank().idempotent, stub(ship, () => 'x')]
    const report = await crashEverywhere(
      async () => ({ register: checkout, stubs, scenario: (t) => t.run(checkout, 5) }),
      { maxRuns: 2 },
    )

    expect(report.runs).toBe(2)
    // @ts-expect-error no scenario
    await expect(crashEverywhere(() => ({ register: checkout }))).rejects.toThrow(
      /^crashEverywhere: the function must return \{ register, scenario \}.*got an object/,
    )
    // @ts-expect-error nothing is returned
    await expect(crashEverywhere(() => {})).rejects.toThrow(/got undefined$/)
  })

  test('says that the scenario fails without a crash', async () => {
    const run = crashEverywhere(() => ({
      register: checkout,
      stubs: [
        stub(charge, () => {
          throw new Error('no bank')
        }),
      ],
      scenario: (t) => t.run(checkout, 5),
    }))

    await expect(run).rejects.toThrow(/^crashEverywhere: without a crash: .*no bank/)
  })
})
