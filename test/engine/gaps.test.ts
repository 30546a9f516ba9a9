// Weak points of the system that the contract describes (its section 9.1), by their numbers: those
// that take a runtime and a store.

import { expect, test } from 'vitest'

import { CancelledError, channel, ConflictError, connect, open, workflow } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { deferred, openSpace } from '../support/engine.ts'
import { withMethods } from '../support/wrapped-store.ts'

test('a child that continues as new still answers its parent [gap_02]', async () => {
  await using space = await openSpace('memory')
  const child = workflow('child', async (page: number, ctx): Promise<string> => {
    await ctx.sleep(1)
    return page < 4 ? ctx.continueAsNew(page + 1) : `${ctx.info.parentId} ${ctx.info.execution}`
  })
  const parent = workflow('parent', (_: undefined, ctx) => ctx.run(child, 1))
  const runtime = await space.open([parent, child])

  expect(await runtime.run(parent, undefined, { id: 'p' })).toBe('p 4')
})

test('a child of a later execution answers that execution, over a restart [gap_03]', async () => {
  await using space = await openSpace('memory')
  const go = channel<string>('go')
  const child = workflow('child', (_: undefined, ctx) => ctx.receive(go))
  const parent = workflow('parent', async (execution: number, ctx): Promise<string> => {
    if (execution < 3) return ctx.continueAsNew(execution + 1)
    const running = ctx.run(child, undefined, { id: 'c' })
    ctx.progress('waiting')
    return `${ctx.info.execution} ${await running}`
  })
  const first = await space.open([parent, child])
  const started = await first.start(parent, 1, { id: 'p' })
  for await (const { progress } of started.watch()) if (progress === 'waiting') break
  await first.close()
  const second = await space.open([parent, child])

  await second.get(child, 'c').send(go, 'go')

  expect(await second.get(parent, 'p').result()).toBe('3 go')
})

test('a child whose id is taken fails, and its parent learns that [gap_06]', async () => {
  await using space = await openSpace('memory')
  const child = workflow('child', async (n: number) => n)
  const parent = workflow('parent', (_: undefined, ctx) =>
    ctx
      .run(child, 2, { id: 'taken' })
      .then(String)
      .catch((error: unknown) => (error instanceof ConflictError ? error.instanceId : 'another')),
  )
  const runtime = await space.open([parent, child])
  await runtime.run(child, 1, { id: 'taken' })

  expect(await runtime.run(parent)).toBe('taken')
})

test('any number of messages is carried over continue-as-new, in their order [gap_08]', async () => {
  await using space = await openSpace('memory')
  const orders = channel<number>('orders')
  const taking = workflow('taking', async (taken: number[], ctx): Promise<number[]> => {
    const order = await ctx.receive(orders)
    const all = [...taken, order]
    return all.length < 50 ? ctx.continueAsNew(all) : all
  })
  const client = space.connect()
  const numbers = Array.from({ length: 50 }, (_, i) => i)
  for (const n of numbers) await client.get(taking, 't').send(orders, n)
  const runtime = await space.open([taking])

  expect(await runtime.run(taking, [], { id: 't' })).toEqual(numbers)
})

test('a cancellation that arrives while an execution continues as new is not lost', async () => {
  const continuing = deferred()
  const arrived = deferred()
  const real = sqlite({ path: ':memory:' }) as StoreHandle
  const store: StoreHandle = {
    kind: real.kind,
    [OPEN_WORKFLOW_STORE]() {
      const inner = real[OPEN_WORKFLOW_STORE]()
      return withMethods(inner, {
        async commit(batch) {
          if (batch.turns.some(({ next }) => next.kind === 'continue')) {
            continuing.resolve()
            await arrived.promise
          }
          return inner.commit(batch)
        },
        async load(wanted) {
          const loaded = await inner.load(wanted)
          // The reader takes it in before this runs.
          if (loaded.some(({ inbox }) => inbox.length > 0)) setImmediate(arrived.resolve)
          return loaded
        },
      })
    },
  }
  const loop = workflow('loop', async (n: number, ctx): Promise<string> => {
    await ctx.sleep(1)
    return n < 5 ? ctx.continueAsNew(n + 1) : 'not cancelled'
  })
  // A database in memory lasts as long as it is open.
  await using client = connect(store)
  // The tick, which comes three times in a lease, finds the cancellation.
  await using runtime = await open(store, { register: [loop], lease: '3s' })
  const instance = await runtime.start(loop, 1)
  await continuing.promise

  await client.get(loop, instance.id).cancel('stop')

  await expect(instance.result()).rejects.toBeInstanceOf(CancelledError)
})
