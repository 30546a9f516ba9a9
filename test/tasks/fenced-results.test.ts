import { describe, expect, test } from 'vitest'

import { activity, type ActivityContext, open, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { freezable, look, QUICK, tasksOf } from './support.ts'

// A finished result is used, and not computed again, whichever runtime owns the instance or the
// task by then.
describeOnStores('a result', (kind) => {
  test('of an owner that was superseded while its activity ran is used', async () => {
    await using space = await openSpace(kind)
    const begun = deferred()
    const gate = deferred<string>()
    let runs = 0
    const slow = activity('slow', async () => {
      runs++
      begun.resolve()
      return gate.promise
    })
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.run(slow))
    const cut = freezable(space)
    const owner = await open(cut.store, { register: waits, log: space.log })
    await owner.start(waits, undefined, { id: 'i' })
    await begun.promise

    // It has not learned of the suspension when its activity ends.
    cut.freeze()
    await space.connect().get('i').suspend('for a while')
    gate.resolve('done')
    cut.thaw()
    await eventually(async () => (await inboxOf('i')).includes('completed'))
    await space.connect().get('i').resume()
    const next = await space.open(waits, QUICK)

    expect(await next.get('i').result({ timeout: '8s' })).toBe('done')
    expect(runs).toBe(1)
    await owner.close({ drain: 0 })

    async function inboxOf(id: string): Promise<string[]> {
      return look(space, async (store) => {
        const [row] = await store.find([id])
        const [loaded] = await store.load([{ iid: row!.iid, after: 0 }])
        return loaded!.inbox.map(({ kind: what }) => what)
      })
    }
  })

  test('of a task whose runtime was declared dead is used, and its second attempt is dropped', async () => {
    await using space = await openSpace(kind)
    const first = { begun: deferred(), gate: deferred<string>() }
    const second = { begun: deferred(), gate: deferred<string>() }
    const told = deferred<unknown>()
    const slow = activity<undefined, string>('slow')
    const slowAs = ({ begun, gate }: typeof first) =>
      slow.implement(async (_, ctx: ActivityContext) => {
        ctx.signal.addEventListener('abort', () => told.resolve([ctx.attempt, ctx.signal.reason]))
        begun.resolve()
        return gate.promise
      })
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.run(slow))
    const owner = await space.open(waits, { tags: 'none', ...QUICK })
    const cut = freezable(space)
    const dying = await open(cut.store, { register: slowAs(first), log: space.log, ...QUICK })
    const started = await owner.start(waits, undefined, { id: 'i' })
    await first.begun.promise
    await cut.die()
    await space.open(slowAs(second), QUICK)
    await second.begun.promise

    // The one that was given up is the quicker one after all.
    first.gate.resolve('first')
    cut.thaw()

    expect(await started.result({ timeout: '8s' })).toBe('first')
    expect(await told.promise).toMatchObject([2, { name: 'CancelledError' }])
    second.gate.resolve('second')
    await dying.close({ drain: 0 })
  })
})

describeOnStores('while an instance is suspended', (kind) => {
  test('its tasks continue, and nothing that was completed runs again after that', async () => {
    await using space = await openSpace(kind)
    const ran: string[] = []
    const gates = { one: deferred(), two: deferred() }
    const begun = { one: deferred(), two: deferred() }
    const work = activity<'one' | 'two', string>('work')
    const works = work.implement(async (name) => {
      ran.push(name)
      begun[name].resolve()
      await gates[name].promise
      return name
    })
    const both = workflow('both', async (_: undefined, ctx) =>
      ctx.all([ctx.run(work, 'one'), ctx.run(work, 'two')]),
    )
    const owner = await space.open(both, { tags: 'none', ...QUICK })
    await space.open(works, QUICK)
    const started = await owner.start(both, undefined, { id: 'i' })
    await Promise.all([begun.one.promise, begun.two.promise])

    await started.suspend()
    gates.one.resolve()
    await eventually(async () => (await tasksOf(space, 'i')).length === 1)
    expect((await started.info())!.status).toBe('suspended')
    await started.resume()
    gates.two.resolve()

    expect(await started.result({ timeout: '8s' })).toEqual(['one', 'two'])
    expect(ran.toSorted()).toEqual(['one', 'two'])
  })
})

describe('an instance that ends', () => {
  test.each(['terminate', 'cancel'] as const)('by %s stops its tasks', async (how) => {
    await using space = await openSpace('memory')
    const begun = deferred()
    const told = deferred<unknown>()
    const endless = activity<undefined, never>('endless')
    const owner = await space.open(
      workflow('waits', async (_: undefined, ctx) => ctx.run(endless)),
      { tags: 'none', ...QUICK },
    )
    await space.open(
      endless.implement(async (_, ctx) => {
        begun.resolve()
        return new Promise<never>((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            told.resolve(ctx.signal.reason)
            reject(ctx.signal.reason as Error)
          })
        })
      }),
      QUICK,
    )
    const waits = workflow<undefined, never>('waits')
    const started = await owner.start(waits, undefined, { id: 'i' })
    await begun.promise

    await started[how]('enough')

    expect(await told.promise).toMatchObject({ name: 'CancelledError' })
    expect(await tasksOf(space, 'i')).toEqual([])
  })

  test('that comes from another process drops the task that its command became', async () => {
    await using space = await openSpace('memory')
    const gate = deferred<string>()
    const toldToStop = deferred()
    const begun = [deferred(), deferred()]
    let runs = 0
    const slow = activity('slow', async (_: undefined, ctx: ActivityContext) => {
      const run = runs++
      begun[run]?.resolve()
      // The first one does not look at its signal.
      if (run === 0) return gate.promise
      ctx.signal.addEventListener('abort', () => toldToStop.resolve())
      ctx.heartbeat('half')
      await toldToStop.promise
      throw new Error('stopped')
    })
    const waits = workflow('waits', async (_: undefined, ctx) => {
      const result = await ctx.run(slow)
      await ctx.sleep('1h')
      return result
    })
    const runtime = await space.open(waits)
    const started = await runtime.start(waits, undefined, { id: 'i' })
    await begun[0]!.promise
    await started.suspend('for a moment')
    await started.resume()
    await begun[1]!.promise
    await eventually(async () => (await tasksOf(space, 'i')).length === 1)

    gate.resolve('done')
    await toldToStop.promise

    await eventually(async () => (await started.info())!.waitingFor[0]?.startsWith('timer'))
    expect(await tasksOf(space, 'i')).toEqual([])
    expect(runs).toBe(2)
  })
})
