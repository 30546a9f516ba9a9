import { expect, test } from 'vitest'
import {
  activity,
  CancelledError,
  channel,
  failure,
  TimeoutError,
  workflow,
} from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')
const Broke = failure('BrokeInStructureTest', { retryable: false })
const echo = activity('echo', (n: number) => n)
const breaks = activity('breaks', () => {
  throw new Broke('broke')
})

describeOnStores('structure', (kind) => {
  test('all: results by place or by name, functions and promises alike', async () => {
    await using space = await openSpace(kind)
    const gathers = workflow('gathers', async (_: undefined, ctx) => {
      const list = await ctx.all([ctx.run(echo, 1), (own) => own.run(echo, 2)])
      const record = await ctx.all({ three: ctx.run(echo, 3), nap: (own) => own.sleep(1) })
      return { list, record }
    })
    const runtime = await space.open(gathers)

    expect(await runtime.run(gathers)).toEqual({
      list: [1, 2],
      record: { three: 3, nap: undefined },
    })
  })

  test('all: when one fails the others are cancelled, and finish their clean-up first', async () => {
    await using space = await openSpace(kind)
    const order: string[] = []
    const fails = workflow('fails', async (_: undefined, ctx) => {
      await ctx.all({
        bad: (own) => own.run(breaks),
        good: async (own) => {
          try {
            await own.receive(word)
          } catch (error) {
            order.push((error as Error).name)
            await own.uncancellable((calm) => calm.run(echo, 1))
            order.push('cleaned')
            throw error
          }
        },
      })
    })
    const runtime = await space.open(fails)

    await expect(runtime.run(fails)).rejects.toThrow(Broke)

    expect(order).toEqual(['CancelledError', 'cleaned'])
  })

  test('race: the first one wins, by name, and the others are cancelled', async () => {
    await using space = await openSpace(kind)
    const aborted = deferred()
    const long = activity('long', async (_: undefined, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.resolve()
    })
    const races = workflow('races', async (_: undefined, ctx) =>
      ctx.race({ long: ctx.run(long), word: ctx.receive(word), time: ctx.sleep('1d') }),
    )
    const runtime = await space.open(races)
    const instance = await runtime.start(races)

    await instance.send(word, 'hi')

    expect(await instance.result()).toEqual({ key: 'word', value: 'hi' })
    await aborted.promise
  })

  test('map: results in the order of the items, with no more at once than allowed', async () => {
    await using space = await openSpace(kind)
    let [running, most] = [0, 0]
    const busy = activity('busy', async (n: number) => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 2))
      running--
      return n * 10
    })
    const maps = workflow('maps', async (count: number, ctx) =>
      ctx.map(
        Array.from({ length: count }, (_, i) => i),
        (n, own) => own.run(busy, n),
        { concurrency: 3 },
      ),
    )
    const runtime = await space.open(maps)

    expect(await runtime.run(maps, 12)).toEqual(Array.from({ length: 12 }, (_, i) => i * 10))
    expect(most).toBe(3)
  })

  test('map: a failure stops what has not begun', async () => {
    await using space = await openSpace(kind)
    const begun: number[] = []
    const third = activity('third', (n: number) => {
      begun.push(n)
      if (n === 2) throw new Broke('third')
      return n
    })
    const maps = workflow('maps', async (_: undefined, ctx) =>
      ctx.map([0, 1, 2, 3, 4], (n, own) => own.run(third, n), { concurrency: 1 }),
    )
    const runtime = await space.open(maps)

    await expect(runtime.run(maps)).rejects.toThrow(Broke)

    expect(begun).toEqual([0, 1, 2])
  })

  test('scope: late work throws a TimeoutError, and its open commands are cancelled', async () => {
    await using space = await openSpace(kind)
    const late = workflow('late', async (_: undefined, ctx) => {
      const inTime = await ctx.scope((own) => own.run(echo, 1), { timeout: '1d' })
      const error = await ctx
        .scope((own) => own.receive(word), { timeout: 10 })
        .catch((caught: unknown) => caught)
      const left = await ctx.scope(async (own) => {
        void own.receive(word)
        return 'left'
      })
      return [inTime, error instanceof TimeoutError && error.afterMs, left, await ctx.receive(word)]
    })
    const runtime = await space.open(late)
    const instance = await runtime.start(late)
    await eventually(async () => (await instance.info())?.waitingFor.length === 1)

    await instance.send(word, 'mine')

    expect(await instance.result()).toEqual([1, 10, 'left', 'mine'])
  })

  test('saga: completed steps are undone, the last first, even when it is cancelled', async () => {
    await using space = await openSpace(kind)
    const done: string[] = []
    const act = activity('act', (what: string) => void done.push(what))
    const books = workflow('books', async (fails: boolean, ctx) =>
      ctx.saga(async (undo) => {
        for (const what of ['flight', 'hotel']) {
          await ctx.run(act, what)
          undo(() => ctx.run(act, `undo ${what}`))
        }
        await (fails ? ctx.run(breaks) : ctx.receive(word))
      }),
    )
    const runtime = await space.open(books)

    await expect(runtime.run(books, true)).rejects.toThrow(Broke)
    const instance = await runtime.start(books, false)
    await eventually(() => done.length === 6)
    await instance.cancel()
    await expect(instance.result()).rejects.toThrow(CancelledError)

    const once = ['flight', 'hotel', 'undo hotel', 'undo flight']
    expect(done).toEqual([...once, ...once])
  })

  test('saga: an undo that fails does not keep the others from running', async () => {
    await using space = await openSpace(kind)
    const done: string[] = []
    const act = activity('act', (what: string) => void done.push(what))
    const books = workflow('books', async (_: undefined, ctx) => {
      const error = await ctx
        .saga(async (undo) => {
          undo(() => ctx.run(act, 'undo one'))
          undo(() => ctx.run(breaks))
          throw new Error('no')
        })
        .catch((caught: unknown) => caught)
      return (error as AggregateError).errors.map((one: Error) => one.name)
    })
    const runtime = await space.open(books)

    expect(await runtime.run(books)).toEqual(['Error', 'BrokeInStructureTest'])
    expect(done).toEqual(['undo one'])
  })

  test('commands that are open at return are cancelled', async () => {
    await using space = await openSpace(kind)
    const aborted = deferred()
    const long = activity('long', async (_: undefined, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.resolve()
    })
    const leaves = workflow('leaves', async (_: undefined, ctx) => {
      void ctx.run(long).catch(() => {})
      await ctx.sleep(20)
      return 'gone'
    })
    const runtime = await space.open(leaves)

    expect(await runtime.run(leaves)).toBe('gone')
    await aborted.promise
  })

  test('a plain promise as a branch is refused, with what to write instead', async () => {
    await using space = await openSpace(kind)
    const careless = workflow('careless', async (_: undefined, ctx) => {
      const helper = async () => ctx.run(echo, 1)
      return ctx.all([helper() as never])
    })
    const runtime = await space.open(careless)

    await expect(runtime.run(careless)).rejects.toThrow(
      'branch "0" must be a promise of this context or a function (ctx) => …, got a promise that cannot be cancelled',
    )
  })
})

test('fan-in of 5,000, with native combinators at any nesting', async () => {
  await using space = await openSpace('memory')
  const wide = workflow('wide', async (count: number, ctx) => {
    const groups = Array.from({ length: count / 100 }, (_, g) =>
      Promise.all(
        Array.from({ length: 100 }, (_item, i) =>
          Promise.race([ctx.run(echo, g * 100 + i), ctx.sleep('1d').then(() => -1)]),
        ),
      ),
    )
    const settled = await Promise.allSettled(groups)
    return settled
      .flatMap((group) => (group.status === 'fulfilled' ? group.value : []))
      .reduce((sum, n) => sum + n, 0)
  })
  const runtime = await space.open(wide)

  expect(await runtime.run(wide, 5_000)).toBe((4_999 * 5_000) / 2)
}, 60_000)
