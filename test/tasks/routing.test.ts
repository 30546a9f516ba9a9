import { describe, expect, test } from 'vitest'

import { activity, open, type OpenOptions, workflow } from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { deferred, eventually, openSpace } from '../support/engine.ts'
import { dataOf, QUICK, stopped, tasksOf } from './support.ts'

const TAGS = ['', 'gpu', 'eu'] as const

/** An activity that says where it runs. */
const where = activity<string, string>('where')
const whereIn = (place: string) => where.implement(async () => place)

describe.concurrent('tags', () => {
  const asks = workflow('asks', async (tag: string, ctx) =>
    ctx.run(where, tag, tag === '' ? {} : { tag }),
  )

  test.each<[string, OpenOptions['tags'], readonly string[]]>([
    ['by default', undefined, ['']],
    ['as a list', ['gpu'], ['', 'gpu']],
    ['with only', { only: ['gpu'] }, ['gpu']],
    ['any', 'any', ['', 'gpu', 'eu']],
    ['none', 'none', []],
  ])('decide what is run here: %s', async (_, tags, served) => {
    await using space = await openSpace('memory')
    const here = { ...(tags !== undefined && { tags }), ...QUICK }
    const runtime = await space.open([asks, whereIn('here')], here)
    const started = await Promise.all(
      TAGS.map((tag) => runtime.start(asks, tag, { id: `tag ${tag}` })),
    )
    await runtime.idle()
    const ended = await Promise.all(started.map((one) => one.info()))
    expect(TAGS.filter((_tag, i) => ended[i]!.status === 'completed')).toEqual(served)

    // What is not run here waits for a runtime that can run it.
    await space.open(whereIn('there'), { tags: 'any', ...QUICK })
    const places = await Promise.all(started.map((one) => one.result({ timeout: '8s' })))

    expect(places).toEqual(TAGS.map((tag) => (served.includes(tag) ? 'here' : 'there')))
    const given = await Promise.all(started.map((one) => dataOf(one, 'activity')))
    expect(given.map(([data]) => [data!['where'], data!['tag'] ?? ''])).toEqual(
      TAGS.map((tag) => [served.includes(tag) ? 'local' : 'task', tag]),
    )
  })

  test('of a call go before those of the definition', async () => {
    await using space = await openSpace('memory')
    const heavy = activity('heavy', { tag: 'gpu' }, async (_: undefined, ctx) => ctx.info.tag)
    const both = workflow('both', async (_: undefined, ctx) => [
      await ctx.run(heavy),
      await ctx.run(heavy, undefined, { tag: 'eu' }),
    ])
    const runtime = await space.open(both, { tags: ['gpu', 'eu'] })

    expect(await runtime.run(both, undefined)).toEqual(['gpu', 'eu'])
  })

  test('that no runtime serves leave it waiting, which can be raced', async () => {
    await using space = await openSpace('memory')
    const nobody = activity('nobody', { tag: 'moon' }, async () => 1)
    const guarded = workflow('guarded', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ work: ctx.run(nobody), late: ctx.sleep(50) })
      return key
    })
    const runtime = await space.open(guarded, QUICK)

    expect(await runtime.run(guarded, undefined)).toBe('late')
  })

  test.each<[unknown, string]>([
    ['gpu', `open: tags must be a list of tags, { only: [...] }, 'any' or 'none', got "gpu"`],
    [{ only: [] }, `open: tags: only must have at least one tag; to run no activities, use 'none'`],
    [
      [''],
      'open: tags[0] must be a string of 1 to 500 characters without control characters, got ""',
    ],
  ])('of %j are refused by open', async (tags, message) => {
    const opening = open('memory:', { register: asks, tags: tags as 'any', log: silentLog })

    await expect(opening).rejects.toThrow(message)
  })
})

describe.concurrent('whichever runtime takes an instance over', () => {
  test.each<[string, OpenOptions['tags'], string | undefined]>([
    ['does not serve the tag of an activity', [], 'gpu'],
    ['runs no activities', 'none', undefined],
  ])('and %s leaves it to others', async (_, tags, tag) => {
    await using space = await openSpace('memory')
    const ran: string[] = []
    const begun = deferred()
    const held = activity<undefined, string>('held')
    const heldIn = (place: string) =>
      held.implement(async (_input, ctx) => {
        ran.push(place)
        if (place !== 'first') return place
        begun.resolve()
        throw await stopped(ctx)
      })
    const holds = workflow('holds', async (_input: undefined, ctx) =>
      ctx.run(held, undefined, tag === undefined ? {} : { tag }),
    )
    const first = await space.open([holds, heldIn('first')], { tags: 'any' })
    await first.start(holds, undefined, { id: 'i' })
    await begun.promise
    await first.close({ drain: 0 })

    const taker = await space.open([holds, heldIn('taker')], { ...QUICK, tags: tags! })
    await taker.idle()
    await eventually(async () => ran.length > 1 || (await tasksOf(space, 'i')).length > 0)
    expect(ran).toEqual(['first'])
    await space.open(heldIn('third'), { tags: 'any', ...QUICK })

    expect(await taker.get('i').result({ timeout: '8s' })).toBe('third')
    expect(ran).toEqual(['first', 'third'])
  })
})

describe.concurrent('a runtime', () => {
  test('for workflows only and one for activities only do all the work together', async () => {
    await using space = await openSpace('memory')
    const double = activity<number, number>('double')
    const sums = workflow('sums', async (n: number, ctx) => {
      const items = Array.from({ length: n }, (_, i) => i)
      const doubled = await ctx.map(items, (i, inner) => inner.run(double, i))
      return doubled.reduce((sum, one) => sum + one, await ctx.step('one', () => 1))
    })
    const thinker = await space.open(sums, { tags: 'none', ...QUICK })
    await space.open(
      double.implement(async (n) => n * 2),
      QUICK,
    )

    expect(await thinker.run(sums, 20, { timeout: '10s' })).toBe(381)
  })

  test('that learns of an activity from a workflow it runs is there for tasks of it', async () => {
    await using space = await openSpace('memory')
    const square = activity('square', async (n: number) => n * n)
    const local = workflow('local', async (n: number, ctx) => ctx.run(square, n))
    const remote = workflow('remote', async (n: number, ctx) =>
      ctx.run(activity<number, number>('square'), n),
    )
    const knows = await space.open(local, QUICK)
    expect(await knows.run(local, 3)).toBe(9)
    const asks = await space.open(remote, QUICK)

    expect(await asks.run(remote, 4, { timeout: '8s' })).toBe(16)
  })

  test('learns that it has the code of a task that others left behind', async () => {
    await using space = await openSpace('memory')
    const begun = deferred()
    const endless = activity('learned', { limit: { concurrency: 1 } }, () => {
      begun.resolve()
      return new Promise<string>(() => {})
    })
    const before = workflow('calls', async (_: undefined, ctx) => ctx.run(endless))
    const first = await space.open(before, QUICK)
    await first.start(before, undefined, { id: 'left' })
    await begun.promise
    await first.close({ drain: 0 })

    // This runtime was not given the activity: only the code of a sleeping workflow names it.
    const quick = activity('learned', { limit: { concurrency: 1 } }, async () => 'done')
    const after = workflow('calls', async (_: undefined, ctx) => ctx.run(quick))
    const second = await space.open(after, QUICK)

    expect(await second.get(after, 'left').result({ timeout: '10s' })).toBe('done')
  })
})
