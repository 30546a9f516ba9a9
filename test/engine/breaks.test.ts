import { expect, test } from 'vitest'
import { activity, CancelledError, channel, stateKey, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')
const box = channel<{ v: string }>('box')

describeOnStores('edge cases found by trying to break it', (kind) => {
  test('children, starts and sends get the value at the call, not later changes of it', async () => {
    await using space = await openSpace(kind)
    const tells = workflow('tells', async (given: { v: string }) => given.v)
    const takes = workflow('takes', async (_: undefined, ctx) => (await ctx.receive(box)).v)
    const changes = workflow('changes', async (_: undefined, ctx) => {
      const given = { v: 'at the call' }
      const child = ctx.run(tells, given)
      const started = ctx.start(tells, given, { id: 'started' })
      const sent = ctx.get('receiver').send(box, given)
      given.v = 'changed later'
      await Promise.all([started, sent])
      return child
    })
    const runtime = await space.open([changes, tells, takes])
    const receiver = await runtime.start(takes, undefined, { id: 'receiver' })

    expect(await runtime.run(changes)).toBe('at the call')
    expect(await runtime.get(tells, 'started').result()).toBe('at the call')
    expect(await receiver.result()).toBe('at the call')
  })

  test('an input that cannot be stored is refused by name, also with a time-out', async () => {
    await using space = await openSpace(kind)
    const leaf = workflow('leaf', async (input: unknown) => input)
    const gives = workflow('gives', async (timeout: number, ctx) =>
      ctx.run(leaf, () => {}, timeout > 0 ? { timeout } : {}),
    )
    const runtime = await space.open([gives, leaf])

    for (const timeout of [0, 1_000]) {
      await expect(runtime.run(gives, timeout)).rejects.toThrow('ctx.run: input of workflow "leaf"')
    }
  })

  test('a time-out beyond the latest possible date never expires', async () => {
    await using space = await openSpace(kind)
    const patient = workflow('patient', async (_: undefined, ctx) =>
      ctx.scope((own) => own.receive(word, { timeout: 8.64e15 }), {
        timeout: 8.64e15,
      }),
    )
    const first = await space.open(patient)
    await first.start(patient, undefined, { id: 'p' })
    const later = await first.start(patient, undefined, { delay: '100000000d' })
    expect((await later.info())?.status).toBe('scheduled')
    await first.close()

    const second = await space.open(patient)
    await second.get('p').send(word, 'at last')

    expect(await second.get('p').result()).toBe('at last')
  })

  test('ending a parent does not wait for the start of a child under way', async () => {
    await using space = await openSpace(kind)
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(word))
    const leaves = workflow('leaves', async (_: undefined, ctx) => {
      void ctx.run(waits).catch(() => {})
      await ctx.sleep(1)
      return 'left'
    })
    const runtime = await space.open([leaves, waits])
    const begunMs = performance.now()

    await Promise.all(Array.from({ length: 8 }, () => runtime.run(leaves)))

    expect(performance.now() - begunMs).toBeLessThan(4_000)
  })

  test('a cancellation beside a continue-as-new lets the code clean up', async () => {
    await using space = await openSpace(kind)
    const cleaned = stateKey<boolean>('cleaned')
    const nothing = activity('nothing', () => 1)
    const loops = workflow('loops', async (_: undefined, ctx): Promise<never> => {
      try {
        await ctx.sleep(1)
        return await ctx.continueAsNew()
      } finally {
        if (ctx.signal.aborted) {
          await ctx.uncancellable(() => ctx.run(nothing))
          ctx.state.set(cleaned, true)
        }
      }
    })
    const runtime = await space.open(loops)

    const all = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const instance = await runtime.start(loops)
        await eventually(async () => ((await instance.info())?.execution ?? 0) > 2)
        await instance.cancel()
        await expect(instance.result()).rejects.toThrow(CancelledError)
        return instance.readState(cleaned)
      }),
    )

    expect(all).toEqual(Array(12).fill(true))
  })

  test('one that continues without ever waiting can be cancelled', async () => {
    await using space = await openSpace(kind)
    const spins = workflow('spins', async (_: undefined, ctx): Promise<never> =>
      ctx.continueAsNew(),
    )
    const runtime = await space.open(spins)
    const instance = await runtime.start(spins)

    await instance.cancel('enough')

    await expect(instance.result()).rejects.toThrow('cancelled: enough')
  })

  test('a parent in a full runtime starts its children before it is released', async () => {
    await using space = await openSpace(kind)
    const leaf = workflow('leaf', async (n: number) => n + 1)
    const parent = workflow('parent', async (n: number, ctx) => ctx.run(leaf, n))
    const runtime = await space.open([parent, leaf], { concurrency: { instances: 1 } })

    expect(await runtime.run(parent, 1)).toBe(2)
  })

  test('many concurrent restarts of one id leave one instance', async () => {
    await using space = await openSpace(kind)
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(word))
    const runtime = await space.open(waits)

    const done = await Promise.allSettled(
      Array.from({ length: 12 }, () =>
        runtime.start(waits, undefined, { id: 'one', onConflict: 'restart' }),
      ),
    )

    expect(done.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect((await runtime.get('one').info())?.status).toBe('running')
  })

  test('sends of one workflow to one instance keep their order', async () => {
    await using space = await openSpace(kind)
    const takes = workflow('takes', async (count: number, ctx) => {
      const got: string[] = []
      while (got.length < count) got.push(await ctx.receive(word))
      return got
    })
    const sends = workflow('sends', async (count: number, ctx) => {
      for (let i = 0; i < count; i++) void ctx.get('t').send(word, String(i))
    })
    const runtime = await space.open([takes, sends])
    const receiver = await runtime.start(takes, 100, { id: 't' })

    await runtime.run(sends, 100)

    expect(await receiver.result()).toEqual(Array.from({ length: 100 }, (_, i) => String(i)))
  })

  test('a delayed start can be cancelled before its time, and none of its code runs', async () => {
    await using space = await openSpace(kind)
    let ran = 0
    const later = workflow('later', async () => void ran++)
    const runtime = await space.open(later)
    const instance = await runtime.start(later, undefined, { delay: '1h' })

    await instance.cancel('never mind')

    await expect(instance.result()).rejects.toThrow('cancelled: never mind')
    expect(ran).toBe(0)
  })

  test('children of children of children: their ids stay within bounds', async () => {
    await using space = await openSpace(kind)
    const nests = workflow('nests', async (depth: number, ctx): Promise<number> => {
      return depth === 0 ? ctx.info.id.length : ctx.run(nests, depth - 1)
    })
    const runtime = await space.open(nests)

    expect(await runtime.run(nests, 50)).toBeLessThan(330)
  })
})
