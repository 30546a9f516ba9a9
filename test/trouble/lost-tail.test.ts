// What comes after a failover that lost the latest writes: numbers of instances, executions and
// commands are used again. `npm run failover` plays it with real servers.

import { expect, test } from 'vitest'

import { activity, channel, connect, open, type Runtime, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { keepMoment } from './lost-tail.ts'

const charge = activity<string, string>('charge')
const buy = workflow('buy', async (order: string, ctx) => ({
  order,
  receipt: await ctx.run(charge, order),
}))

/** A schema in which nothing has happened, and how to open stores on it. */
async function openPlace() {
  const database = await testSchema('tail')
  const { url, schema } = database
  const log = memoryLog()
  const opened: { close(options?: { drain: number }): Promise<void> }[] = []
  const store = () => postgres({ url, schema, notify: 'off' })
  return {
    database,
    async open(register: Parameters<typeof open>[1]['register'], options: object = {}) {
      const runtime: Runtime = await open(store(), { register, log, lease: '3s', ...options })
      opened.push(runtime)
      return runtime
    },
    connect() {
      const client = connect(store(), { log })
      opened.push(client)
      return client
    },
    iidOf: async (id: string) =>
      (await database.query<{ iid: string }>('select iid from instances where id = $1', [id]))[0]!
        .iid,
    async [Symbol.asyncDispose]() {
      for (const each of opened.toReversed()) await each.close({ drain: 0 }).catch(() => {})
      await database[Symbol.asyncDispose]()
    },
  }
}

/** An activity that says when it begins, and waits until it may end. */
function gated() {
  const begun = new Map<string, ReturnType<typeof deferred>>()
  const gates = new Map<string, ReturnType<typeof deferred>>()
  const of = (all: typeof begun, order: string) => {
    if (!all.has(order)) all.set(order, deferred())
    return all.get(order)!
  }
  return {
    begun: (order: string) => of(begun, order).promise,
    finish: (order: string) => of(gates, order).resolve(undefined),
    code: charge.implement(async (order) => {
      of(begun, order).resolve(undefined)
      await of(gates, order).promise
      return `receipt for ${order}`
    }),
  }
}

test('the result of a task that was lost does not reach the task that has its numbers now', async () => {
  await using place = await openPlace()
  const before = await place.open(buy, { tags: 'none' })
  const work = gated()
  await place.open(work.code, { concurrency: { activities: 1 } })
  const moment = await keepMoment(place.database)
  await before.start(buy, 'order-1', { id: 'order-1' })
  await work.begun('order-1')
  const lost = await place.iidOf('order-1')
  await moment.loseTail()
  const owner = await place.open(buy, { tags: 'none' })
  const second = await owner.start(buy, 'order-2', { id: 'order-2' })
  expect(await place.iidOf('order-2')).toBe(lost)

  work.finish('order-2')
  work.finish('order-1')

  expect(await second.result({ timeout: '10s' })).toEqual({
    order: 'order-2',
    receipt: 'receipt for order-2',
  })
})

test('the result of an owner that lost its instance does not reach the call that has its numbers now', async () => {
  await using place = await openPlace()
  const [first, second] = [gated(), gated()]
  const before = await place.open([buy, first.code])
  const moment = await keepMoment(place.database)
  await before.start(buy, 'order-1', { id: 'order-1' })
  await first.begun('order-1')
  const lost = await place.iidOf('order-1')
  await moment.loseTail()
  const owner = await place.open([buy, second.code])
  const started = await owner.start(buy, 'order-2', { id: 'order-2' })
  await second.begun('order-2')
  expect(await place.iidOf('order-2')).toBe(lost)

  // It learns that the instance is not its own, and hands over what it has.
  first.finish('order-1')
  await eventually(async () => (await before.get('order-1').info()) === undefined)
  await before.close({ drain: '5s' })

  expect(await place.database.query('select payload from inbox')).toEqual([])
  second.finish('order-2')
  expect(await started.result({ timeout: '10s' })).toMatchObject({ receipt: 'receipt for order-2' })
})

test('a caller that waits for a lost instance learns that, and does not get the result of another one', async () => {
  await using place = await openPlace()
  const client = place.connect()
  await client.get('nobody').info()
  const moment = await keepMoment(place.database)
  const waiting = await client.start(buy, 'order-1', { id: 'order-1' })
  const lost = await place.iidOf('order-1')
  await moment.loseTail()
  const work = gated()
  const owner = await place.open([buy, work.code])
  work.finish('order-2')

  await owner.run(buy, 'order-2', { id: 'order-2' })

  expect(await place.iidOf('order-2')).toBe(lost)
  const result = waiting.result({ timeout: '20s' })
  await expect(result).rejects.toThrow('lost in a database failover')
})

test('starts and early messages do not fail because their numbers are taken', async () => {
  await using place = await openPlace()
  const notes = channel<string>('notes')
  const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(notes))
  const begins = workflow('begins', async (id: string, ctx) => {
    await ctx.start(waits, undefined, { id })
  })
  const [client, sender] = [place.connect(), place.connect()]
  const runtime = await place.open([waits, begins])
  const moment = await keepMoment(place.database)
  // Each has a block of numbers from now on.
  for (const [i, each] of [client, sender, runtime].entries()) {
    await each.start(waits, undefined, { id: `lost ${i}` })
  }
  await moment.loseTail()
  for (const other of ['a', 'b', 'c']) {
    const another = place.connect()
    const ids = Array.from({ length: 300 }, (_, i) => `${other} ${i}`)
    await Promise.all(ids.map((id) => another.start(waits, undefined, { id })))
  }

  const many = Array.from({ length: 8 }, (_, i) => i)
  const starts = await Promise.allSettled([
    ...many.map((i) => client.start(waits, undefined, { id: `client ${i}` })),
    ...many.map((i) => runtime.start(waits, undefined, { id: `runtime ${i}` })),
    ...many.map((i) => runtime.run(begins, `child ${i}`)),
  ])
  const sends = await Promise.allSettled([
    ...many.map((i) => sender.get(`early ${i}`).send(notes, `early ${i}`)),
    ...many.map((i) => sender.get(`client ${i}`).send(notes, `client ${i}`)),
  ])

  const failures = [...starts, ...sends].flatMap((one) =>
    one.status === 'rejected' ? [String(one.reason)] : [],
  )
  expect(failures).toEqual([])
  for (const i of many) {
    expect(await runtime.run(waits, undefined, { id: `early ${i}` })).toBe(`early ${i}`)
    expect(await client.get(`client ${i}`).result({ timeout: '10s' })).toBe(`client ${i}`)
  }
})
