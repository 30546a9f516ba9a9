import { expect, test } from 'vitest'

import {
  activity,
  channel,
  ConflictError,
  type Instance,
  stateKey,
  workflow,
} from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { eventsOf, typesOf } from '../support/histories.ts'

const go = channel<string>('go')
const kept = stateKey<string>('kept')

/** Reserves and charges by activities whose answers say how often they were called. */
function shop() {
  const calls: string[] = []
  const count = (name: string) =>
    activity(name, async (what: string) => {
      calls.push(name)
      return `${name} ${what}`
    })
  const [reserve, charge] = [count('reserve'), count('charge')]
  const order = workflow('order', async (what: string, ctx) => {
    const reserved = await ctx.run(reserve, what)
    ctx.state.set(kept, reserved)
    const charged = await ctx.run(charge, what)
    ctx.state.set(kept, charged)
    return { reserved, charged }
  })
  return { calls, order }
}

const seqOf = async (handle: Instance, type: string, nth = 1): Promise<number> => {
  const events = await eventsOf(handle)
  return events.filter((event) => event.type === type)[nth - 1]!.seq
}

describeOnStores('history', (kind) => {
  test('events are numbered from 1 and hold values, not text', async () => {
    await using space = await openSpace(kind)
    const { order } = shop()
    const holdfast = await space.open(order)
    const handle = await holdfast.start(order, 'tea')
    await handle.result()

    const events = await eventsOf(handle)

    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events[0]).toMatchObject({
      type: 'started',
      at: expect.any(Date) as Date,
      data: { workflow: 'order', version: '1.0.0', input: 'tea' },
    })
    expect(events.find(({ type }) => type === 'activity')?.data).toMatchObject({
      name: 'reserve',
      input: 'tea',
    })
    expect(events.find(({ type }) => type === 'completed')?.data).toMatchObject({
      command: 1,
      value: 'reserve tea',
    })
    expect(events.at(-1)).toMatchObject({ type: 'ended', data: { status: 'completed' } })
  })

  test('a long history is read in pages, from any event on', async () => {
    const long = workflow('long', async (n: number, ctx) => {
      for (let i = 0; i < n; i++) await ctx.step(`step ${i}`, async () => i)
    })
    await using space = await openSpace(kind)
    const holdfast = await space.open(long)
    await holdfast.run(long, 1_300, { id: 'long' })
    const handle = space.connect().get('long')

    const events = await eventsOf(handle)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events.length).toBe(2_602)
    for (const after of [1, 99, 100, 201, 2_601, 2_602, 9_999]) {
      const rest: unknown[] = []
      for await (const event of handle.history({ after })) rest.push(event)
      expect(rest).toEqual(events.slice(after))
    }
    await expect(async () => {
      for await (const _ of handle.history({ after: -1 })) void _
    }).rejects.toThrow('history: after must be')
  })

  test('each execution has its own history; an unknown one is an error', async () => {
    await using space = await openSpace(kind)
    const counts = workflow('counts', async (n: number, ctx): Promise<number> => {
      if (n < 3) return ctx.continueAsNew(n + 1)
      return n
    })
    const holdfast = await space.open(counts)
    const handle = await holdfast.start(counts, 1, { id: 'x' })
    await handle.result()
    const inputs = async (execution: number): Promise<unknown> => {
      const [first] = await eventsOf(handle, { execution })
      return (first!.data as { input: unknown }).input
    }

    expect([await inputs(1), await inputs(2), await inputs(3)]).toEqual([1, 2, 3])
    expect((await handle.info())?.execution).toBe(3)
    await expect(inputs(4)).rejects.toThrow(
      'history: instance "x" has no history of execution 4; its latest is 3',
    )
    await expect(inputs(0)).rejects.toThrow('history: execution must be a whole number, 1 or more')
    await expect(typesOf(holdfast.get('none'))).rejects.toThrow(
      'history: there is no instance "none"',
    )
  })
})

describeOnStores('forks', (kind) => {
  test('a fork has the history up to its event, and runs again what came after', async () => {
    await using space = await openSpace(kind)
    const { order, calls } = shop()
    const holdfast = await space.open(order)
    const handle = await holdfast.start(order, 'tea', { labels: { team: 'a' } })
    const result = await handle.result()

    const forked = await handle.fork({ at: await seqOf(handle, 'completed') })

    expect(await forked.result()).toMatchObject({
      reserved: 'reserve tea',
      charged: 'charge tea',
    })
    expect(calls).toEqual(['reserve', 'charge', 'charge'])
    expect(forked.id).not.toBe(handle.id)
    expect(await forked.info()).toMatchObject({ status: 'completed', labels: { team: 'a' } })
    expect(await forked.readState(kept)).toBe('charge tea')
    expect(await handle.result()).toEqual(result)
  })

  test('every event of an instance is a place to fork at', async () => {
    await using space = await openSpace(kind)
    const { order } = shop()
    const holdfast = await space.open(order)
    const handle = await holdfast.start(order, 'tea')
    await handle.result()
    const types = await typesOf(handle)

    for (const at of types.keys()) {
      const forked = await handle.fork({ at: at + 1, id: `fork-${at + 1}` })
      expect(await forked.result()).toMatchObject({ charged: 'charge tea' })
      const beside = (await typesOf(forked)).filter((type) => type !== 'forked')
      expect(beside).toEqual(types)
    }
  })

  test('a fork keeps the state at its event until it continues', async () => {
    await using space = await openSpace(kind)
    const { order } = shop()
    const holdfast = await space.open(order)
    const handle = await holdfast.start(order, 'tea')
    await handle.result()
    await holdfast.close()

    const client = space.connect()
    const at = async (type: string, nth: number): Promise<string | undefined> => {
      const seq = await seqOf(client.get(handle.id), type, nth)
      const forked = await client.get(handle.id).fork({ at: seq })
      return forked.readState(kept)
    }

    expect(await at('completed', 1)).toBeUndefined()
    expect(await at('set', 1)).toBe('reserve tea')
    expect(await at('completed', 2)).toBe('reserve tea')
    expect(await at('set', 2)).toBe('charge tea')
  })

  test('a terminated instance can be forked where it was', async () => {
    await using space = await openSpace(kind)
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
    const holdfast = await space.open(waits)
    const handle = await holdfast.start(waits)
    await eventually(async () => (await handle.info())?.waitingFor)
    await handle.terminate()

    const forked = await handle.fork({ at: await seqOf(handle, 'ended'), id: 'again' })
    await forked.send(go, 'on')

    expect(await forked.result()).toBe('on')
  })

  test('a fork needs an existing event, and a free id', async () => {
    await using space = await openSpace(kind)
    const quick = workflow('quick', async () => 'done')
    const holdfast = await space.open(quick)
    const handle = await holdfast.start(quick, undefined, { id: 'x' })
    await handle.result()

    await expect(handle.fork({ at: 3 })).rejects.toThrow('fork: at must be from 1 to 2, got 3')
    await expect(handle.fork({ at: 0 })).rejects.toThrow(
      'fork: at must be a whole number, 1 or more, got 0',
    )
    await expect(handle.fork({} as never)).rejects.toThrow('fork: at is missing')
    await expect(handle.fork({ at: 1, id: 'x' })).rejects.toThrow(
      new ConflictError('fork: id "x" is taken', 'x'),
    )
    await expect(holdfast.get('none').fork({ at: 1 })).rejects.toThrow(
      'fork: there is no instance "none"',
    )
  })
})

describeOnStores('exports', (kind) => {
  test('an export continues in another store where it left off', async () => {
    await using here = await openSpace(kind)
    await using there = await openSpace(kind)
    const log: string[] = []
    const talks = workflow('talks', async (name: string, ctx) => {
      await ctx.step('greet', () => void log.push(`hello ${name}`))
      ctx.state.set(kept, name)
      const lucky = ctx.random()
      return `${await ctx.receive(go)} ${name} ${lucky}`
    })
    const first = await here.open(talks)
    const handle = await first.start(talks, 'Kim', { id: 'k' })
    await eventually(async () =>
      (await handle.info())?.waitingFor.includes('message on channel "go"'),
    )

    const exported = JSON.parse(JSON.stringify(await handle.export())) as never
    const second = await there.open(talks)
    const moved = await second.import(exported, { labels: { from: 'here' } })
    await moved.send(go, 'bye')
    await handle.send(go, 'bye')

    expect(moved.id).toBe('k')
    expect(await moved.result()).toBe(await handle.result())
    expect(log).toEqual(['hello Kim'])
    expect(await moved.readState(kept)).toBe('Kim')
    expect((await moved.info())?.labels).toEqual({ from: 'here' })
  })

  test('redacted values are not exported', async () => {
    await using space = await openSpace(kind)
    const { order } = shop()
    const holdfast = await space.open(order)
    const handle = await holdfast.start(order, 'secret')
    await handle.result()

    const exported = await handle.export({ redact: (value) => (value === undefined ? value : '…') })

    expect(JSON.stringify(exported)).not.toContain('secret')
    expect(exported.events).toHaveLength((await typesOf(handle)).length)
  })

  test('an import refuses a taken id, even one with early messages', async () => {
    await using space = await openSpace(kind)
    const { order } = shop()
    const holdfast = await space.open(order)
    const handle = await holdfast.start(order, 'tea', { id: 'x' })
    await handle.result()
    await holdfast.get('early').send(go, 'hello')
    const exported = await handle.export()

    await expect(holdfast.import(exported)).rejects.toThrow(
      new ConflictError('import: id "x" is taken', 'x'),
    )
    await expect(holdfast.import(exported, { id: 'early' })).rejects.toBeInstanceOf(ConflictError)
    await expect(holdfast.import({ ...exported, holdfast: 2 as never })).rejects.toThrow(
      'import: holdfast must be 1, got 2',
    )
  })
})
