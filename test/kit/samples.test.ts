// Ten workflows with a mistake each, which the kit finds with a message that names the line, and the same
// ten without it, which pass. A comment marks the line of each mistake.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { activity, type Workflow, workflow } from '../../src/index.ts'
import { crashEverywhere, type CrashScenario, openTest, stub } from '../../src/testing/index.ts'

const LINES = readFileSync(import.meta.filename, 'utf8').split('\n')

/** The line that a comment marks, as a stack shows it. */
const marked = (mistake: string): string =>
  `samples.test.ts:${LINES.findIndex((line) => line.includes(`// mistake: ${mistake}`)) + 1}:`

const charge = activity<number, string>('charge')
const refund = activity<string, void>('refund')
const reserve = activity<string, void>('reserve')
const readStock = activity<void, number>('read stock')
const writeStock = activity<number, void>('write stock')
const addToStock = activity<number, void>('add to stock')
const note = activity('note', async (value: unknown) => String(value))

/** Runs a workflow once, replayed before each turn. */
async function replayed(sample: Workflow<void, unknown>): Promise<void> {
  await using t = await openTest({ register: [sample, note], replay: 'always' })
  await t.run(sample)
  await t.idle()
}

interface Sample {
  readonly mistake: string
  readonly wrong: () => Promise<unknown>
  readonly right: () => Promise<unknown>
}

// What each of them needs from outside.
const bank = () => {
  const [charges, refunds]: [Map<string, number>, string[]] = [new Map(), []]
  return { charges, refunds, total: () => [...charges.values()].reduce((a, b) => a + b, 0) }
}

function chargesOnce(isIdempotent: boolean): () => CrashScenario<unknown> {
  const pay = workflow('pay', async (_: void, ctx) => {
    const receipt = await ctx.run(charge, 5) // mistake: not idempotent
    await ctx.sleep('1d')
    return receipt
  })
  return () => {
    const { charges, total } = bank()
    let calls = 0
    return {
      register: pay,
      stubs: [
        stub(charge, (cents, ctx) => {
          charges.set(isIdempotent ? ctx.idempotencyKey : String(calls++), cents)
          return 'receipt'
        }),
      ],
      scenario: (t) => t.run(pay),
      check: () => expect(total()).toBe(5),
    }
  }
}

function sagaWith(order: 'undo first' | 'undo last'): () => CrashScenario<unknown> {
  const buy = workflow('buy', async (_: void, ctx) =>
    ctx
      .saga(async (undo) => {
        if (order === 'undo first') undo(() => ctx.run(refund, 'receipt'))
        await ctx.run(charge, 5)
        await ctx.run(reserve, 'tea', { retry: { maxAttempts: 1 } }) // mistake: saga order
        if (order === 'undo last') undo(() => ctx.run(refund, 'receipt'))
        return 'bought'
      })
      .catch(() => 'not bought'),
  )
  return () => {
    const { charges, refunds, total } = bank()
    return {
      register: buy,
      stubs: [
        stub(charge, (cents, ctx) => {
          charges.set(ctx.idempotencyKey, cents)
          return 'receipt'
        }),
        stub(reserve, () => {
          throw new Error('sold out')
        }),
        stub(
          refund,
          (receipt) => {
            if (!refunds.includes(receipt)) refunds.push(receipt)
          },
          { optional: true },
        ),
      ],
      scenario: (t) => t.run(buy),
      check: () => expect(refunds.length * 5).toBe(total()),
    }
  }
}

function counting(isAtomic: boolean): () => CrashScenario<unknown> {
  const restock = workflow('restock', async (_: void, ctx) => {
    if (isAtomic) return ctx.run(addToStock, 1)
    const before = await ctx.run(readStock)
    return ctx.run(writeStock, before + 1) // mistake: lost update
  })
  return () => {
    let stock = 0
    const added = new Set<string>()
    const optional = { optional: true }
    return {
      register: restock,
      stubs: [
        stub(readStock, () => stock, optional),
        stub(writeStock, (count) => void (stock = count), optional),
        stub(
          addToStock,
          (count, ctx) => {
            if (!added.has(ctx.idempotencyKey)) stock += count
            added.add(ctx.idempotencyKey)
          },
          optional,
        ),
      ],
      scenario: async (t) => {
        const both = await Promise.all([t.start(restock), t.start(restock)])
        await Promise.all(both.map((one) => one.result()))
      },
      check: () => expect(stock).toBe(2),
    }
  }
}

let orders = 0
const cache = new Map<string, number>()

const SAMPLES: readonly Sample[] = [
  {
    mistake: 'variable of a step',
    wrong: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          let receipt = 'none'
          await ctx.step('charge', () => void (receipt = 'r-1')) // mistake: variable of a step
          return receipt
        }),
      ),
    right: () => replayed(workflow('w', async (_: void, ctx) => ctx.step('charge', () => 'r-1'))),
  },
  {
    mistake: 'not idempotent',
    wrong: () => crashEverywhere(chargesOnce(false)),
    right: () => crashEverywhere(chargesOnce(true)),
  },
  {
    mistake: 'forgotten await',
    wrong: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          await ctx.sleep('1d')
          void ctx.run(note, 'x') // mistake: forgotten await
          return 'done'
        }),
      ),
    right: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          await ctx.sleep('1d')
          await ctx.run(note, 'x')
          return 'done'
        }),
      ),
  },
  {
    mistake: 'saga order',
    wrong: () => crashEverywhere(sagaWith('undo last')),
    right: () => crashEverywhere(sagaWith('undo first')),
  },
  {
    mistake: 'date in code',
    wrong: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          await ctx.sleep('1d')
          return ctx.run(note, new Date()) // mistake: date in code
        }),
      ),
    right: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          await ctx.sleep('1d')
          return ctx.run(note, ctx.now())
        }),
      ),
  },
  {
    mistake: 'random number',
    wrong: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          const winner = Math.random() // mistake: random number
          return ctx.run(note, winner)
        }),
      ),
    right: () => replayed(workflow('w', async (_: void, ctx) => ctx.run(note, ctx.random()))),
  },
  {
    mistake: 'timer of its own',
    wrong: () =>
      replayed(
        workflow('w', async () => {
          await new Promise((resolve) => setTimeout(resolve, 5)) // mistake: timer of its own
          return 'done'
        }),
      ),
    right: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          await ctx.sleep(5)
          return 'done'
        }),
      ),
  },
  {
    mistake: 'state of the module',
    wrong: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          orders += 1
          return ctx.run(note, `order ${orders}`) // mistake: state of the module
        }),
      ),
    right: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          const number = await ctx.step('number', () => {
            cache.set('orders', (cache.get('orders') ?? 0) + 1)
            return cache.get('orders')
          })
          return ctx.run(note, `order ${number}`)
        }),
      ),
  },
  {
    mistake: 'lost update',
    wrong: () => crashEverywhere(counting(false)),
    right: () => crashEverywhere(counting(true)),
  },
  {
    mistake: 'unhandled rejection',
    wrong: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          void ctx.run(note, 'x').then(() => {
            throw new Error('nobody listens') // mistake: unhandled rejection
          })
          await ctx.sleep('1d')
          return 'done'
        }),
      ),
    right: () =>
      replayed(
        workflow('w', async (_: void, ctx) => {
          const noted = ctx.run(note, 'x').then((text) => text.length)
          await ctx.sleep('1d')
          return noted
        }),
      ),
  },
]

test('there are ten', () => {
  expect(SAMPLES).toHaveLength(10)
})

describe.each(SAMPLES)('$mistake', ({ mistake, wrong, right }) => {
  test('is found, with its line', async () => {
    const found: unknown = await wrong().then(
      () => undefined,
      (error: unknown) => error,
    )

    expect(found).toBeInstanceOf(Error)
    expect((found as Error).message).toContain(marked(mistake))
  })

  test('is not seen where it is not', async () => {
    await expect(right()).resolves.not.toThrow()
  })
})
