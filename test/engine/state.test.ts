import { expect, test } from 'vitest'
import { channel, NotFoundError, stateKey, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')
const count = stateKey<number>('count')
const when = stateKey<Map<string, Date>>('when')

describeOnStores('state', (kind) => {
  test('it can be read from outside while the instance runs and after its end', async () => {
    await using space = await openSpace(kind)
    const keeps = workflow('keeps', async (_: undefined, ctx) => {
      ctx.state.set(count, 1)
      ctx.state.set(when, new Map([['a', new Date(0)]]))
      await ctx.receive(word)
      ctx.state.set(count, 2)
      ctx.state.delete(when)
    })
    const runtime = await space.open(keeps)
    const instance = await runtime.start(keeps)

    expect(await instance.readState(count)).toBe(1)
    expect(await instance.readState(when)).toEqual(new Map([['a', new Date(0)]]))
    await instance.send(word, 'go')
    await instance.result()
    expect(await instance.readState(count)).toBe(2)
    expect(await instance.readState(when)).toBeUndefined()
    await expect(runtime.get('nobody').readState(count)).rejects.toThrow(NotFoundError)
  })

  test('code that reads, changes and writes sees what it saw, after any restart', async () => {
    await using space = await openSpace(kind)
    const adds = workflow('adds', async (_: undefined, ctx) => {
      const seen: number[] = []
      for (let i = 0; i < 4; i++) {
        const before = ctx.state.get(count) ?? 0
        seen.push(before)
        ctx.state.set(count, before + 1)
        await ctx.receive(word)
      }
      return seen
    })
    for (let i = 0; i < 3; i++) {
      const runtime = await space.open(adds)
      const instance = await runtime.start(adds, undefined, { id: 'a' })
      await instance.send(word, 'go')
      await eventually(async () => (await instance.readState(count)) === i + 2)
      await runtime.close()
    }
    const runtime = await space.open(adds)
    await runtime.get('a').send(word, 'last')

    expect(await runtime.get('a').result()).toEqual([0, 1, 2, 3])
  })

  test('clear and keys, over executions and restarts', async () => {
    await using space = await openSpace(kind)
    const [one, two] = [stateKey<number>('one'), stateKey<number>('two')]
    const keeps = workflow('keeps', async (round: number, ctx): Promise<unknown> => {
      if (round === 0) {
        ctx.state.set(count, 1)
        ctx.state.clear()
        ctx.state.set(one, 1)
        ctx.state.set(two, 2)
        return ctx.continueAsNew(1)
      }
      const before = ctx.state.keys()
      ctx.state.delete(one)
      await ctx.receive(word)
      return { before, after: ctx.state.keys() }
    })
    const first = await space.open(keeps)
    await first.start(keeps, 0, { id: 'p' })
    await eventually(async () => (await first.get('p').info())?.waitingFor[0]?.includes('word'))
    await first.close()
    const second = await space.open(keeps)
    await second.get('p').send(word, 'go')

    expect(await second.get('p').result()).toEqual({ before: ['one', 'two'], after: ['two'] })
    expect(await second.get('p').readState(count)).toBeUndefined()
    expect(await second.get('p').readState(one)).toBeUndefined()
    expect(await second.get('p').readState(two)).toBe(2)
  })

  test('its limits are counted over the whole execution, and can be set', async () => {
    await using space = await openSpace(kind)
    const fills = workflow('fills', async (keys: number, ctx) => {
      for (let i = 0; i < keys; i++) {
        ctx.state.set(stateKey<number>(`key ${i}`), i)
        await ctx.sleep(0)
      }
      return ctx.state.keys().length
    })
    const long = workflow('long', async (_: undefined, ctx) => {
      ctx.state.set(stateKey<string>('text'), 'x'.repeat(50))
    })
    const limits = { stateKeys: 3, stateValueBytes: 40 }
    const runtime = await space.open([fills, long], { limits })

    expect(await runtime.run(fills, 3)).toBe(3)
    await expect(runtime.run(fills, 4)).rejects.toThrow('the instance already has 3 keys')
    await expect(runtime.run(long)).rejects.toThrow('over the limit of 40; split it')
  })
})

describeOnStores('progress and labels', (kind) => {
  test('watchers see each value once it is recorded, and the end', async () => {
    await using space = await openSpace(kind)
    const steps = workflow('steps', async (_: undefined, ctx) => {
      for (const at of ['one', 'two']) {
        ctx.progress({ at })
        await ctx.receive(word)
      }
      return 'end'
    })
    const runtime = await space.open(steps)
    const instance = await runtime.start(steps, undefined, { labels: { team: 'a' } })
    const seen: string[] = []

    for await (const { progress, status, labels } of instance.watch()) {
      seen.push(`${(progress as { at: string }).at} ${status} ${labels['team']}`)
      if (status === 'running') await instance.send(word, 'go')
    }

    expect(seen).toEqual(['one running a', 'two running a', 'two completed a'])
  })

  test('a delayed start is scheduled until its time has come', async () => {
    await using space = await openSpace(kind)
    const later = workflow('later', async (_: undefined, ctx) => ctx.now().getTime())
    const runtime = await space.open(later)
    const instance = await runtime.start(later, undefined, { delay: 200 })
    const info = await instance.info()
    expect(info?.status).toBe('scheduled')

    const [, due] = /^its start at (.+)$/.exec(info!.waitingFor[0]!)!
    expect(await instance.result()).toBeGreaterThanOrEqual(Date.parse(due!))
  })
})
