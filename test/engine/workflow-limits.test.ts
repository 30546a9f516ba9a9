import { expect, test } from 'vitest'

import {
  channel,
  type Client,
  type Duration,
  type InstanceInfo,
  type Limit,
  type Runtime,
  workflow,
} from '../../src/index.ts'
import { describeOnStores, eventually, openSpace, type StoreKind } from '../support/engine.ts'

const go = channel<string>('go')

interface Order {
  readonly customer: string
  readonly number: number
}

/** A workflow that notes when it begins, and ends when a message arrives. */
function orders(limit?: Limit<Order>) {
  const begun: number[] = []
  const order = workflow('order', { ...(limit && { limit }) }, async (input: Order, ctx) => {
    begun.push(input.number)
    await ctx.receive(go)
    return input.number
  })
  return { order, begun }
}

type OrderWorkflow = ReturnType<typeof orders>['order']

async function startAll(
  client: Client,
  order: OrderWorkflow,
  customers: readonly string[],
): Promise<void> {
  for (const [number, customer] of customers.entries()) {
    await client.start(order, { customer, number }, { id: `order-${number}` })
  }
}

async function statusOf(client: Client, number: number): Promise<InstanceInfo['status']> {
  return (await client.get(`order-${number}`).info())!.status
}

async function finish(runtime: Client, order: OrderWorkflow, number: number): Promise<void> {
  const instance = runtime.get(order, `order-${number}`)
  await instance.send(go, 'go')
  expect(await instance.result({ timeout: '15s' })).toBe(number)
}

function noCustomer(): string {
  throw new RangeError('no customer')
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b)
}

const byCustomer = ({ customer }: Order): string => customer

function withRate(count: number, per: Duration) {
  return workflow('rated', { limit: { rate: { count, per } } }, async (n: number) => n)
}

describeOnStores('limits of workflows', (kind: StoreKind) => {
  test('so many instances run at a time, and the end of one admits the next', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 2 })
    const holdfast = await space.open(order)
    await startAll(holdfast, order, ['a', 'a', 'a', 'a'])

    await eventually(() => begun.length === 2)
    await eventually(async () => (await statusOf(holdfast, 2)) === 'scheduled')
    expect(begun).toEqual([0, 1])
    const { waitingFor } = (await holdfast.get('order-2').info())!
    expect(waitingFor).toEqual([`its workflow's limit of 2 at a time`])

    await finish(holdfast, order, 1)
    await eventually(() => begun.length === 3)
    expect(begun[2]).toBe(2)
    for (const number of [0, 2, 3]) await finish(holdfast, order, number)
  })

  test('a start that waits says that suspended instances hold the places', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 2 })
    const holdfast = await space.open(order)
    await startAll(holdfast, order, ['a', 'a', 'a'])
    await eventually(() => begun.length === 2)

    expect(await holdfast.admin.suspend({ workflow: order, status: 'running' })).toBe(2)

    expect((await holdfast.get('order-2').info())!.waitingFor).toEqual([
      "its workflow's limit of 2 at a time (suspended instances hold 2 of these places)",
    ])
  })

  test('each key has a limit of its own, computed from the input', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1, key: byCustomer })
    const holdfast = await space.open(order)
    await startAll(holdfast, order, ['a', 'a', 'a', 'b', 'b'])

    await eventually(() => begun.length === 2)
    expect(sorted(begun)).toEqual([0, 3])
    expect((await holdfast.get('order-1').info())!.waitingFor).toEqual([
      `its workflow's limit of 1 at a time for key "a"`,
    ])
    for (const number of [0, 3, 1, 4, 2]) await finish(holdfast, order, number)
    expect(sorted(begun)).toEqual([0, 1, 2, 3, 4])
  })

  test('a client without the code starts instances, and the runtime computes their keys', async () => {
    await using space = await openSpace(kind)
    const contract = workflow<Order, number>('order')
    const begun: number[] = []
    const order = contract.implement(
      async ({ number }, ctx) => {
        begun.push(number)
        await ctx.receive(go)
        return number
      },
      { limit: { concurrency: 1, key: byCustomer } },
    )
    const holdfast = await space.open(order)
    const client = space.connect()
    for (const [number, customer] of ['a', 'a', 'b'].entries()) {
      await client.start(contract, { customer, number }, { id: `order-${number}` })
    }

    await eventually(() => begun.length === 2)
    expect(sorted(begun)).toEqual([0, 2])
    for (const number of [0, 2, 1]) await finish(holdfast, order, number)
  })

  test('an instance whose key cannot be computed by its runtime is suspended, with the reason', async () => {
    await using space = await openSpace(kind)
    const contract = workflow<Order, number>('order')
    const order = contract.implement(async ({ number }) => number, {
      limit: { concurrency: 1, key: noCustomer },
    })
    const holdfast = await space.open(order)
    await expect(holdfast.start(order, { customer: 'a', number: 0 })).rejects.toThrow(
      'workflow "order": limit.key threw',
    )
    await space.connect().start(contract, { customer: 'a', number: 1 }, { id: 'order-1' })

    const { error, waitingFor } = await eventually(async () => {
      const info = await holdfast.get('order-1').info()
      return info?.status === 'suspended' && info
    })
    expect(error!.message).toMatch(/^workflow "order": limit\.key threw .*no customer/)
    expect(waitingFor).toEqual([])
  })

  test('a key that no store can keep suspends its instance, and no other', async () => {
    await using space = await openSpace(kind)
    const contract = workflow<Order, number>('order')
    const order = contract.implement(async ({ number }) => number, {
      limit: { concurrency: 1, key: byCustomer },
    })
    const client = space.connect()
    const customers = ['a', 'a\0', '\ud800', 'b']
    for (const [number, customer] of customers.entries()) {
      await client.start(contract, { customer, number }, { id: `order-${number}` })
    }
    const holdfast = await space.open(order)

    for (const number of [0, 3]) {
      const instance = holdfast.get(order, `order-${number}`)
      expect(await instance.result({ timeout: '15s' })).toBe(number)
    }
    for (const number of [1, 2]) {
      await eventually(async () => (await statusOf(holdfast, number)) === 'suspended')
      const { error } = (await holdfast.get(`order-${number}`).info())!
      expect(error!.message).toBe(
        'workflow "order": limit.key must return text of at most 500 characters, without control ' +
          `characters and lone surrogates, got ${JSON.stringify(customers[number])}`,
      )
    }
  })

  test('a start that waits is cancelled at once, and none of its code runs', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const holdfast = await space.open(order)
    await startAll(holdfast, order, ['a', 'a', 'a'])
    await eventually(() => begun.length === 1)

    await holdfast.get('order-1').cancel('not needed')
    await eventually(async () => (await statusOf(holdfast, 1)) === 'cancelled')
    await finish(holdfast, order, 0)
    await finish(holdfast, order, 2)

    expect(begun).toEqual([0, 2])
  })

  test('a start that waits can be restarted, and the termination of another admits it', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const holdfast = await space.open(order)
    await startAll(holdfast, order, ['a', 'a'])
    await eventually(() => begun.length === 1)

    const again = { id: 'order-1', onConflict: 'restart' } as const
    await holdfast.start(order, { customer: 'a', number: 1 }, again)
    expect(await statusOf(holdfast, 1)).toBe('scheduled')
    await holdfast.get('order-0').terminate('enough')
    await eventually(() => begun.length === 2)
    await finish(holdfast, order, 1)
    expect(begun).toEqual([0, 1])
  })

  test('an instance that is restarted gives its place up and waits in line again', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const holdfast = await space.open(order)
    await startAll(holdfast, order, ['a', 'a'])
    await eventually(() => begun.length === 1)

    const again = { id: 'order-0', onConflict: 'restart' } as const
    await holdfast.start(order, { customer: 'a', number: 0 }, again)

    await eventually(() => begun.length === 2)
    expect(begun).toEqual([0, 1])
    await finish(holdfast, order, 1)
    await finish(holdfast, order, 0)
  })

  test('children obey the limit of their workflow', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const parent = workflow('parent', async (_: undefined, ctx) =>
      ctx.all(
        [0, 1].map(
          (number) => () => ctx.run(order, { customer: 'a', number }, { id: `order-${number}` }),
        ),
      ),
    )
    const holdfast = await space.open([parent, order])
    const first = await holdfast.start(parent, undefined)
    await eventually(async () => {
      const info = await holdfast.get('order-1').info()
      return info?.status === 'scheduled'
    })
    await finish(holdfast, order, 0)
    await finish(holdfast, order, 1)
    expect(await first.result()).toEqual([0, 1])
    expect(begun).toEqual([0, 1])
  })

  test('a parent that is cancelled ends children that wait', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const parent = workflow('parent', async (_: undefined, ctx) =>
      ctx.run(order, { customer: 'a', number: 1 }, { id: 'order-1' }),
    )
    const holdfast = await space.open([parent, order])
    await startAll(holdfast, order, ['a'])
    await eventually(() => begun.length === 1)
    const handle = await holdfast.start(parent, undefined)
    await eventually(async () => {
      const info = await holdfast.get('order-1').info()
      return info?.status === 'scheduled'
    })

    await handle.cancel()
    await eventually(async () => (await statusOf(holdfast, 1)) === 'cancelled')
    expect(begun).toEqual([0])
    await finish(holdfast, order, 0)
  })

  test('an instance that continues as new keeps its place', async () => {
    await using space = await openSpace(kind)
    const begun: string[] = []
    const loop = workflow(
      'loop',
      { limit: { concurrency: 1 } },
      async ({ name, left }: { name: string; left: number }, ctx) => {
        begun.push(`${name}.${left}`)
        if (left === 0) return
        await ctx.sleep(1)
        await ctx.continueAsNew({ name, left: left - 1 })
      },
    )
    const holdfast = await space.open(loop)
    const a = await holdfast.start(loop, { name: 'a', left: 3 })
    const b = await holdfast.start(loop, { name: 'b', left: 1 })
    await a.result()
    await b.result()

    expect(begun).toEqual(['a.3', 'a.2', 'a.1', 'a.0', 'b.1', 'b.0'])
  })

  test('a rate admits some at once, and the next ones when time has passed', async () => {
    await using space = await openSpace(kind)
    const begun: number[] = []
    const rated = workflow(
      'rated',
      { limit: { rate: { count: 2, per: '400ms' } } },
      async (n: number) => {
        begun.push(performance.now())
        return n
      },
    )
    const holdfast = await space.open(rated)
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: 5 }, (_, n) => holdfast.run(rated, n)))

    // Two at once, then one for each 200 ms.
    const since = begun.toSorted((a, b) => a - b).map((at) => at - startedAt)
    expect(since[2]).toBeGreaterThan(190)
    expect(since[4]).toBeGreaterThan(590)
  })

  test('forks, imports and starts from workflows obey the limit', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1, key: byCustomer })
    const starter = workflow('starter', async (_: undefined, ctx) => {
      await ctx.start(order, { customer: 'a', number: 3 }, { id: 'order-3', priority: 1 })
    })
    const holdfast = await space.open([order, starter])
    await startAll(holdfast, order, ['a'])
    await eventually(() => begun.length === 1)

    await holdfast.get('order-0').fork({ at: 1, id: 'order-1' })
    const exported = await holdfast.get('order-0').export()
    await holdfast.import(exported, { id: 'order-2' })
    await holdfast.run(starter)

    for (const number of [1, 2, 3]) {
      expect(await statusOf(holdfast, number)).toBe('scheduled')
      expect((await holdfast.get(`order-${number}`).info())!.waitingFor).toContain(
        `its workflow's limit of 1 at a time for key "a"`,
      )
    }
    await finish(holdfast, order, 0)
    // Of those that wait, this one has a priority.
    await finish(holdfast, order, 3)
    for (const id of ['order-1', 'order-2']) {
      await holdfast.get(order, id).send(go, 'go')
      await holdfast.get(order, id).result({ timeout: '15s' })
    }
  })

  test('another runtime continues what waits, when the one that ran it has closed', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const first = await space.open(order)
    await startAll(first, order, ['a', 'a'])
    await eventually(() => begun.length === 1)
    await first.close({ drain: 0 })

    const second = await space.open(order)
    await finish(second, order, 0)
    await finish(second, order, 1)
    expect(begun).toEqual([0, 0, 1])
  })

  test('a limit that was raised admits more, also where it was registered before', async () => {
    await using space = await openSpace(kind)
    const { order, begun } = orders({ concurrency: 1 })
    const before: Runtime = await space.open(order)
    await startAll(before, order, ['a', 'a', 'a'])
    await eventually(() => begun.length === 1)

    const raised = orders({ concurrency: 2 })
    await space.open(raised.order)
    await eventually(() => begun.length + raised.begun.length === 2)
    for (const number of [0, 1, 2]) await finish(before, order, number)
    expect(begun.length + raised.begun.length).toBe(3)
  })

  test('a rate that was raised admits at once what waited for the old one', async () => {
    await using space = await openSpace(kind)
    const daily = withRate(1, '1d')
    const before = await space.open(daily)
    await before.run(daily, 0)
    const waiting = await before.start(daily, 1)
    await before.close()

    await space.open(withRate(100, '1s'))

    expect(await space.connect().get(daily, waiting.id).result({ timeout: '15s' })).toBe(1)
  })

  test('among starts that wait for a runtime, higher priorities run first', async () => {
    await using space = await openSpace(kind)
    const begun: number[] = []
    const job = workflow('job', async (n: number) => {
      begun.push(n)
    })
    const client = space.connect()
    const priorities = [0, -10, 5, 1_000, 5, 0]
    for (const [n, priority] of priorities.entries()) {
      await client.start(job, n, { id: `job-${n}`, priority })
    }
    const holdfast = await space.open(job, { concurrency: { instances: 1 } })
    for (const n of [0, 1, 2, 3, 4, 5]) await holdfast.get(`job-${n}`).result({ timeout: '15s' })

    // Those of one priority go by age in milliseconds of the store, and may have the same.
    expect(begun.map((n) => priorities[n])).toEqual([1_000, 5, 5, 0, 0, -10])
  })

  test('a priority also decides who goes on first after a sleep', async () => {
    await using space = await openSpace(kind)
    const woken: number[] = []
    const dueAt = Date.now() + 1_500
    const job = workflow('job', async (n: number, ctx) => {
      await ctx.sleepUntil(new Date(dueAt))
      woken.push(n)
    })
    const before = await space.open(job)
    const priorities = [0, 5, -10, 1_000]
    for (const [n, priority] of priorities.entries()) {
      await before.start(job, n, { id: `job-${n}`, priority })
    }
    await before.close()
    await eventually(() => Date.now() > dueAt + 100)

    const holdfast = await space.open(job, { concurrency: { instances: 1 } })
    for (const n of [0, 1, 2, 3]) await holdfast.get(`job-${n}`).result({ timeout: '15s' })

    expect(woken.map((n) => priorities[n])).toEqual([1_000, 5, 0, -10])
  })

  test.each([
    [1.5, 'start: priority must be a whole number, from -1000 to 1000, got 1.5'],
    [1_001, 'start: priority must be a whole number, from -1000 to 1000, got 1001'],
    ['high', 'start: priority must be'],
  ])('the priority %s is refused', async (priority, words) => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const { order } = orders()
    const input = { customer: 'a', number: 1 }

    await expect(client.start(order, input, { priority: priority as number })).rejects.toThrow(
      words,
    )
  })
})
