import { expect, test } from 'vitest'
import { activity, channel, stateKey, type Workflow, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')
const sum = stateKey<number>('sum')

describeOnStores('continue-as-new', (kind) => {
  test('many executions keep state, progress, labels and the instance', async () => {
    await using space = await openSpace(kind)
    const counts = workflow('counts', async (n: number, ctx): Promise<number> => {
      ctx.state.set(sum, (ctx.state.get(sum) ?? 0) + n)
      if (n === 3) ctx.progress('half')
      return n < 6 ? ctx.continueAsNew(n + 1) : ctx.state.get(sum)!
    })
    const runtime = await space.open(counts)
    const instance = await runtime.start(counts, 1, { labels: { a: 'b' } })

    expect(await instance.result()).toBe(21)
    expect(await instance.info()).toMatchObject({
      execution: 6,
      progress: 'half',
      labels: { a: 'b' },
      status: 'completed',
    })
    expect(await instance.readState(sum)).toBe(21)
  })

  test('other open commands are cancelled, except sends and starts', async () => {
    await using space = await openSpace(kind)
    const quick = workflow('quick', async (n: number) => n)
    const moves = workflow('moves', async (round: number, ctx): Promise<string> => {
      if (round > 0) return ctx.receive(word)
      void ctx.receive(word)
      void ctx.start(quick, 5, { id: 'beside' })
      void ctx.get(ctx.info.id).send(word, 'to myself')
      return ctx.continueAsNew(1)
    })
    const runtime = await space.open([moves, quick])

    expect(await runtime.run(moves, 0)).toBe('to myself')
    expect(await runtime.get(quick, 'beside').result()).toBe(5)
  })

  test('it wins over a returned value, and over what the code does afterwards', async () => {
    await using space = await openSpace(kind)
    const returns = workflow('returns', async (n: number, ctx): Promise<string> => {
      if (n === 0) {
        void ctx.continueAsNew(1)
        void ctx.sleep('1d').catch(() => {})
        return 'first'
      }
      return 'second'
    })
    const runtime = await space.open(returns)

    expect(await runtime.run(returns, 0)).toBe('second')
  })

  test('a restart finds the latest execution', async () => {
    await using space = await openSpace(kind)
    const waits = workflow('waits', async (n: number, ctx): Promise<string> => {
      const said = await ctx.receive(word)
      return n < 2 ? ctx.continueAsNew(n + 1) : `${n} ${said}`
    })
    const first = await space.open(waits)
    const instance = await first.start(waits, 0, { id: 'w' })
    await instance.send(word, 'a')
    await eventually(async () => (await instance.info())?.execution === 2)
    await first.close()

    const second = await space.open(waits)
    await second.get('w').send(word, 'b')
    await second.get('w').send(word, 'c')

    expect(await second.get(waits, 'w').result()).toBe('2 c')
  })
})

const versions = (...all: readonly string[]): Workflow<number, string>[] =>
  all.map((version) =>
    workflow('versioned', { version }, async (n: number, ctx): Promise<string> => {
      if (n === 0) return ctx.continueAsNew(1)
      await ctx.receive(word)
      return `${version} ${ctx.info.version}`
    }),
  )

describeOnStores('versions', (kind) => {
  test('a start takes the latest, or exactly the requested version', async () => {
    await using space = await openSpace(kind)
    const [old, latest] = versions('1.9.0', '1.10.0')
    const runtime = await space.open([latest!, old!])
    const one = await runtime.start(old!, 1)
    const two = await runtime.start(old!, 1, { version: '1.9.0' })
    for (const instance of [one, two]) await instance.send(word, 'go')

    expect(await one.result()).toBe('1.10.0 1.10.0')
    expect(await two.result()).toBe('1.9.0 1.9.0')
  })

  test('a running execution stays with its version; the next one takes the latest', async () => {
    await using space = await openSpace(kind)
    const [old, latest] = versions('1.0.0', '2.0.0')
    const first = await space.open(old!)
    await first.start(old!, 1, { id: 'pinned' })
    await first.close()

    const second = await space.open([old!, latest!])
    await second.get('pinned').send(word, 'go')
    const moved = await second.start(latest!, 0, { version: '1.0.0' })
    await moved.send(word, 'go')

    expect(await second.get('pinned').result()).toBe('1.0.0 1.0.0')
    expect(await moved.result()).toBe('2.0.0 2.0.0')
  })

  test('a version that no runtime registers waits, visibly, for one that does', async () => {
    await using space = await openSpace(kind)
    const [old, latest] = versions('1.0.0', '2.0.0')
    const first = await space.open(old!)
    const instance = await first.start(old!, 1, { id: 'later', version: '2.0.0' })
    await instance.send(word, 'go')
    expect((await instance.info())?.waitingFor.join()).toContain('2.0.0')

    const second = await space.open(latest!)

    expect(await second.get('later').result()).toBe('2.0.0 2.0.0')
  })

  test('continue-as-new into a version that is elsewhere hands the instance over', async () => {
    await using space = await openSpace(kind)
    const name = 'hands-over'
    const old = workflow(name, { version: '1.0.0' }, async (n: number, ctx): Promise<string> =>
      ctx.continueAsNew(n, { version: '3.0.0' }),
    )
    const next = workflow(name, { version: '3.0.0' }, async (n: number) => `new ${n}`)
    const first = await space.open(old)
    const instance = await first.start(old, 7)
    await eventually(async () => (await instance.info())?.version === '3.0.0')

    await space.open(next, { lease: '1s' })

    expect(await instance.result()).toBe('new 7')
  }, 30_000)

  test('patched: running instances keep the old way, new ones take the new', async () => {
    await using space = await openSpace(kind)
    const act = activity('act', (what: string) => what)
    const before = workflow('patchy', async (_: undefined, ctx) => {
      const did = await ctx.run(act, 'old')
      await ctx.receive(word)
      return did
    })
    const after = workflow('patchy', async (_: undefined, ctx) => {
      const isNew = ctx.patched('use-new')
      const did = await ctx.run(act, isNew ? 'new' : 'old')
      await ctx.receive(word)
      return `${did} ${String(ctx.patched('use-new'))}`
    })
    const first = await space.open(before)
    await first.start(before, undefined, { id: 'old-one' })
    await eventually(async () =>
      (await first.get('old-one').info())?.waitingFor[0]?.includes('word'),
    )
    await first.close()

    const second = await space.open(after)
    await second.start(after, undefined, { id: 'new-one' })
    await eventually(async () =>
      (await second.get('new-one').info())?.waitingFor[0]?.includes('word'),
    )
    await second.close()
    const third = await space.open(after)
    for (const id of ['old-one', 'new-one']) await third.get(id).send(word, 'go')

    expect(await third.get('old-one').result()).toBe('old false')
    expect(await third.get('new-one').result()).toBe('new true')
  })
})

describeOnStores('deterministic values', (kind) => {
  test('now, random and uuid are the same on replay', async () => {
    await using space = await openSpace(kind)
    const seen: unknown[][] = []
    const draws = workflow('draws', async (_: undefined, ctx) => {
      const drawn = [ctx.now().getTime(), ctx.random(), ctx.uuid(), ctx.random(), ctx.uuid()]
      seen.push(drawn)
      await ctx.receive(word)
      return drawn
    })
    const first = await space.open(draws)
    await first.start(draws, undefined, { id: 'd' })
    await eventually(() => seen.length === 1)
    await first.close()
    const second = await space.open(draws)
    await second.get('d').send(word, 'go')

    expect(await second.get('d').result()).toEqual(seen[0])
    expect(seen[1]).toEqual(seen[0])
    expect(new Set(seen[0]).size).toBe(5)
  })
})
