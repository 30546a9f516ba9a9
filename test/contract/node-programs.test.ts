import { expect, test } from 'vitest'

import { activity, type ActivityContext, workflow, type WorkflowContext } from '../../src/index.ts'
import { describeInPlaces, ONCE } from '../support/contract.ts'

// The tests of the contract's SDK for Node that are programs with a result. They have no names
// there, so they are called by their numbers. Differences: `ctx.all` gives values and throws the
// first error, `ctx.race` names the winner by its key, and both may be nested.

const greet = activity('greet', (name: string) => `Hello, ${name}`)
const double = activity('double', (n: number) => n * 2)
const upper = activity('upper', (text: string) => text.toUpperCase())
const sum = activity('sum', ({ a, b }: { a: number; b: number }) => ({ sum: a + b }))
const same = activity('same', (value: unknown) => value)
const fails = activity('fails', ONCE, (why: string): string => {
  throw new Error(why)
})
/** Fails twice, then succeeds. */
const flaky = activity('flaky', (_: undefined, { attempt }: ActivityContext) => {
  if (attempt < 3) throw new Error(`attempt ${attempt}`)
  return `after ${attempt}`
})
/** Lasts until it is no longer wanted. */
const slow = activity('slow', async (_: undefined, { signal }: ActivityContext) => {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return 'slow'
})
const FAST = { retry: { maxAttempts: 3, backoff: 'none' } } as const

const doubles = workflow('np-doubles', async (n: number, ctx) => ctx.run(double, n))
const adds = workflow('np-adds', async (pair: { a: number; b: number }, ctx) => ctx.run(sum, pair))
const middle = workflow('np-middle', async (n: number, ctx) => (await ctx.run(doubles, n)) + 1)
const breaks = workflow('np-breaks', async (why: string, ctx) => ctx.run(fails, why))
const sleeps = workflow('np-sleeps', async (_: undefined, ctx) => ctx.sleep('1h'))
/** A block of several steps as a child, as the contract's SDK has to write it. */
const block = workflow('np-block', async (name: string, ctx) => {
  const first = await ctx.run(upper, `${name}1`)
  return `${first}+${await ctx.run(upper, `${name}2`)}`
})
const one = workflow('np-versioned', async (_: undefined, ctx) => ctx.info.version)
const two = workflow(
  'np-versioned',
  { version: '2.0.0' },
  async (_: undefined, ctx) => ctx.info.version,
)
const CHILDREN = [doubles, adds, middle, breaks, sleeps, block, one, two]

const messageOf = (error: unknown): string => (error as Error).message
/** A helper that fails somewhere below the workflow. */
const helper = async (ctx: WorkflowContext): Promise<string> => ctx.run(fails, 'from a helper')

type Program = (ctx: WorkflowContext) => Promise<unknown>

const PROGRAMS: readonly [string, Program, unknown][] = [
  [
    'an activity is called twice [node_1]',
    async (ctx) => [await ctx.run(greet, 'A'), await ctx.run(greet, 'B')],
    ['Hello, A', 'Hello, B'],
  ],
  [
    'a result decides on the branch [node_2]',
    async (ctx) => ((await ctx.run(double, 2)) > 3 ? ctx.run(greet, 'big') : 'small'),
    'Hello, big',
  ],
  [
    'a loop gathers results [node_3]',
    async (ctx) => {
      let n = 1
      for (let i = 0; i < 5; i++) n = await ctx.run(double, n)
      return n
    },
    32,
  ],
  [
    'a failure is caught, and recovered from [node_4]',
    async (ctx) => ctx.run(fails, 'x').catch(() => ctx.run(greet, 'again')),
    'Hello, again',
  ],
  [
    'a timer ends [node_5]',
    async (ctx) => {
      await ctx.sleep(2)
      return 'slept'
    },
    'slept',
  ],
  [
    'activities fan out and in [node_6]',
    async (ctx) => ctx.all([1, 2, 3].map((n) => ctx.run(double, n))),
    [2, 4, 6],
  ],
  [
    'time and ids stay the same within a turn [node_7]',
    async (ctx) => [ctx.now().getTime() === ctx.now().getTime(), ctx.uuid().length],
    [true, 36],
  ],
  ['a child is called [node_9]', async (ctx) => ctx.run(doubles, 21), 42],
  [
    'children run in parallel [node_10]',
    async (ctx) =>
      (await ctx.all([ctx.run(doubles, 1), ctx.run(doubles, 2)])).reduce((a, b) => a + b),
    6,
  ],
  ['root, middle, leaf [node_11]', async (ctx) => ctx.run(middle, 4), 9],
  [
    'conditions decide [node_15]',
    async (ctx) => {
      const n = await ctx.run(double, 5)
      return n > 5 && n < 15 ? 'between' : 'outside'
    },
    'between',
  ],
  [
    'a chain of activities [node_16]',
    async (ctx) => ctx.run(greet, await ctx.run(upper, 'x')),
    'Hello, X',
  ],
  [
    'a flaky activity succeeds [node_17]',
    async (ctx) => ctx.run(flaky, undefined, FAST),
    'after 3',
  ],
  [
    'different versions have different code [node_21]',
    async (ctx) => [await ctx.run(one, undefined, { version: '1.0.0' }), await ctx.run(one)],
    ['1.0.0', '2.0.0'],
  ],
  ['a typed activity [node_35]', async (ctx) => (await ctx.run(sum, { a: 1, b: 2 })).sum, 3],
  [
    'typed results of all [node_36]',
    async (ctx) => {
      const [a, b] = await ctx.all([ctx.run(sum, { a: 1, b: 1 }), ctx.run(double, 4)])
      return a.sum + b
    },
    10,
  ],
  [
    'the typed winner of a race [node_37]',
    async (ctx) => {
      const first = await ctx.race({ sum: ctx.run(sum, { a: 3, b: 4 }), time: ctx.sleep('1h') })
      return first.key === 'sum' ? first.value.sum : 0
    },
    7,
  ],
  ['a typed child [node_38]', async (ctx) => (await ctx.run(adds, { a: 5, b: 6 })).sum, 11],
  [
    'all of an activity and a timer [node_39]',
    async (ctx) => ctx.all([ctx.run(double, 1), ctx.sleep(2)]),
    [2, undefined],
  ],
  [
    'a fan-out whose size is known at run time [node_40]',
    async (ctx) => {
      const count = await ctx.run(double, 4)
      return ctx.map(
        Array.from({ length: count }, (_item, i) => i),
        async (n, inner) => inner.run(double, n),
      )
    },
    [0, 2, 4, 6, 8, 10, 12, 14],
  ],
  [
    'an activity beats a long timer [node_41]',
    async (ctx) => ctx.race({ work: ctx.run(double, 1), time: ctx.sleep('1h') }),
    { key: 'work', value: 2 },
  ],
  [
    'a child of a version [node_57]',
    async (ctx) => ctx.run(one, undefined, { version: '1.0.0' }),
    '1.0.0',
  ],
  [
    'a structure comes back as it went [node_60]',
    async (ctx) => ctx.run(same, { a: [1, { b: null }], c: 'text' }),
    { a: [1, { b: null }], c: 'text' },
  ],
  [
    'a typed fan-out [node_61]',
    async (ctx) =>
      (await ctx.all([ctx.run(sum, { a: 1, b: 2 }), ctx.run(sum, { a: 3, b: 4 })])).map(
        (each) => each.sum,
      ),
    [3, 7],
  ],
  [
    'a typed race [node_62]',
    async (ctx) => (await ctx.race({ a: ctx.run(sum, { a: 2, b: 2 }), b: ctx.run(slow) })).value,
    { sum: 4 },
  ],
  [
    'a retry succeeds after failures [node_63]',
    async (ctx) => ctx.run(flaky, undefined, { retry: { maxAttempts: 5, backoff: 'none' } }),
    'after 3',
  ],
  [
    'when all attempts failed it is made up for [node_64]',
    async (ctx) =>
      ctx
        .run(flaky, undefined, { retry: { maxAttempts: 2, backoff: 'none' } })
        .catch(() => ctx.run(greet, 'sorry')),
    'Hello, sorry',
  ],
  [
    'a child wins a race [node_67]',
    async (ctx) => ctx.race({ child: ctx.run(doubles, 1), time: ctx.sleep('1h') }),
    { key: 'child', value: 2 },
  ],
  [
    'timers and activities take turns [node_68]',
    async (ctx) => {
      const got = []
      for (let i = 0; i < 3; i++) {
        got.push(await ctx.run(double, i))
        await ctx.sleep(1)
      }
      return got
    },
    [0, 2, 4],
  ],
  [
    'a timer of no length [node_69]',
    async (ctx) => {
      await ctx.sleep(0)
      return 'now'
    },
    'now',
  ],
  [
    'a child whose version is pinned [node_75]',
    async (ctx) => ctx.run(two, undefined, { version: '1.0.0' }),
    '1.0.0',
  ],
  [
    'the error of a child reaches its parent [node_76]',
    async (ctx) =>
      ctx
        .run(breaks, 'in the child')
        .catch((error: unknown) => messageOf(error).includes('in the child')),
    true,
  ],
  [
    'debit, ship, refund [node_77]',
    async (ctx) => {
      const done: string[] = []
      await ctx
        .saga(async (undo) => {
          done.push(await ctx.run(upper, 'debit'))
          undo(async () => done.push(await ctx.run(upper, 'refund')))
          await ctx.run(fails, 'ship')
        })
        .catch(() => {})
      return done
    },
    ['DEBIT', 'REFUND'],
  ],
  [
    'blocks with control flow are joined [node_80]',
    async (ctx) =>
      ctx.all([
        ctx.run(block, 'a'),
        async (inner) => ((await inner.run(double, 1)) === 2 ? inner.run(upper, 'yes') : 'no'),
      ]),
    ['A1+A2', 'YES'],
  ],
  [
    'many blocks are joined [node_81]',
    async (ctx) => ctx.all(['a', 'b', 'c', 'd'].map((name) => ctx.run(block, name))),
    ['A1+A2', 'B1+B2', 'C1+C2', 'D1+D2'],
  ],
  [
    'a block hands on to the next [node_82]',
    async (ctx) => ctx.run(block, await ctx.run(block, 'a')),
    'A1+A21+A1+A22',
  ],
  [
    'blocks race [node_83]',
    async (ctx) => (await ctx.race({ block: ctx.run(block, 'a'), never: ctx.run(sleeps) })).key,
    'block',
  ],
  [
    'a block races with an activity [node_84]',
    async (ctx) => (await ctx.race({ block: ctx.run(block, 'a'), slow: ctx.run(slow) })).key,
    'block',
  ],
  [
    'three ways with timers, nested [node_85]',
    async (ctx) =>
      (
        await ctx.race({
          pair: (inner) => inner.race({ a: inner.sleep('1h'), b: inner.sleep('2h') }),
          short: ctx.sleep(2),
        })
      ).key,
    'short',
  ],
  [
    'a join inside a race [node_86]',
    async (ctx) =>
      ctx.race({
        all: (inner) => inner.all([inner.run(double, 1), inner.run(double, 2)]),
        time: ctx.sleep('1h'),
      }),
    { key: 'all', value: [2, 4] },
  ],
  [
    'a child beats a slow activity [node_87]',
    async (ctx) => (await ctx.race({ child: ctx.run(doubles, 3), slow: ctx.run(slow) })).value,
    6,
  ],
  [
    'several children are joined [node_89]',
    async (ctx) => ctx.all([ctx.run(doubles, 1), ctx.run(middle, 1), ctx.run(block, 'x')]),
    [2, 3, 'X1+X2'],
  ],
  [
    'children have children [node_91]',
    async (ctx) => [await ctx.run(middle, 1), await ctx.run(middle, 2)],
    [3, 5],
  ],
  [
    'all: an activity and a timer [node_92]',
    async (ctx) => ctx.all({ n: ctx.run(double, 8), time: ctx.sleep(1) }),
    { n: 16, time: undefined },
  ],
  [
    'all: several timers [node_94]',
    async (ctx) => (await ctx.all([ctx.sleep(3), ctx.sleep(1), ctx.sleep(2)])).length,
    3,
  ],
  [
    'race: an activity before a timer [node_96]',
    async (ctx) => (await ctx.race({ n: ctx.run(double, 1), time: ctx.sleep('1h') })).key,
    'n',
  ],
  [
    'race: the shorter timer [node_100]',
    async (ctx) => (await ctx.race({ long: ctx.sleep('1h'), short: ctx.sleep(1) })).key,
    'short',
  ],
  [
    'all keeps the types [node_101]',
    async (ctx) =>
      ctx.all(['text', 7, { a: 1 }, [1, 2], null, true].map((value) => ctx.run(same, value))),
    ['text', 7, { a: 1 }, [1, 2], null, true],
  ],
  [
    'race keeps the types [node_102]',
    async (ctx) => {
      const got = []
      for (const value of ['text', 7, { a: 1 }])
        got.push((await ctx.race({ same: ctx.run(same, value), time: ctx.sleep('1h') })).value)
      return got
    },
    ['text', 7, { a: 1 }],
  ],
  [
    'an error through a helper [node_126]',
    async (ctx) =>
      helper(ctx).catch((error: unknown) => messageOf(error).includes('from a helper')),
    true,
  ],
  [
    'typed, with retries [node_129]',
    async (ctx) => (await ctx.run(flaky, undefined, FAST)).length,
    7,
  ],
]

describeInPlaces('programs of the SDK for Node', (place) => {
  test.each(PROGRAMS)('%s', async (title, program, expected) => {
    const name = `np-${/node_\d+/.exec(title)![0]}`
    const runs = workflow(name, async (_: undefined, ctx) => program(ctx))
    const runtime = await place.open([runs, ...CHILDREN])

    expect(await runtime.run(runs)).toEqual(expected)
  })

  test.each<[string, Program, string]>([
    [
      'when all attempts failed [node_18]',
      async (ctx) => ctx.run(flaky, undefined, { retry: { maxAttempts: 2, backoff: 'none' } }),
      'attempt 2',
    ],
    [
      'with an error that was caught, noted and thrown again [node_127]',
      async (ctx) => {
        try {
          await ctx.run(fails, 'noted')
        } catch (error) {
          await ctx.run(upper, 'note')
          throw error
        }
      },
      'noted',
    ],
  ])('a workflow fails %s', async (title, program, message) => {
    const name = `np-${/node_\d+/.exec(title)![0]}`
    const runs = workflow(name, async (_: undefined, ctx) => program(ctx))
    const runtime = await place.open(runs)

    await expect(runtime.run(runs)).rejects.toThrow(message)
  })
})
