// Loops over deliveries, handlers, and how a queue comes to an end.

import { describe, expect, test } from 'vitest'
import { type Logger, silentLog } from '../../src/base/log.ts'
import type { Queue } from '../../src/queue/index.ts'
import { gate, queueInTime, takeAll } from './support.ts'

describe('consume', () => {
  test('gives messages as they come', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    await queue.pushMany([1, 2])

    const got: number[] = []
    for await (const delivery of queue.consume()) {
      got.push(delivery.data)
      await delivery.ack()
      if (delivery.data === 2) void queue.push(3)
      if (delivery.data === 3) break
    }

    expect(got).toEqual([1, 2, 3])
    expect(queue.isEmpty).toBe(true)
  })

  test('prefetched messages that were not read are returned, as if never delivered', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    await queue.pushMany([1, 2, 3, 4])

    for await (const delivery of queue.consume({ prefetch: 2 })) {
      expect(queue.counts.inFlight).toBe(3)
      await delivery.ack()
      break
    }
    const rest = await queue.takeMany(10)

    expect(rest.map(({ data, attempt }) => [data, attempt])).toEqual([
      [2, 1],
      [3, 1],
      [4, 1],
    ])
  })

  test('a process that ends counts no attempt for messages that it had only prefetched', async () => {
    const under = await queueInTime<number>()
    const { queue, database } = under
    await queue.pushMany([1, 2, 3, 4])
    const loop = queue.consume({ prefetch: 2 })[Symbol.asyncIterator]()
    const [ahead, other] = [await loop.next(), await queue.take()]
    expect([ahead.value.data, other?.data]).toEqual([1, 4])
    const gone = `update sessions set process = replace(process, ' ${process.pid} ', ' 4194305 ')`
    database.sql(gone).run()

    await using again = await queueInTime<number>({ database })
    const next = await again.queue.takeMany(10)

    expect(next.map(({ data, attempt }) => [data, attempt])).toEqual([
      [1, 2],
      [2, 1],
      [3, 1],
      [4, 2],
    ])
  })

  test('no more deliveries are in flight than prefetch allows', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    await queue.pushMany([1, 2, 3])
    const deliveries = queue.consume({ concurrency: 2 })[Symbol.asyncIterator]()

    const first = await deliveries.next()
    const second = await deliveries.next()
    let third: number | undefined
    const waiting = deliveries.next().then(({ value }) => (third = value.data))
    await under.pass(10)
    expect(third).toBeUndefined()
    await first.value.nack({ delay: '1m' })
    await waiting

    expect([first.value.data, second.value.data, third]).toEqual([1, 2, 3])
  })

  test('a delivery that was never settled makes room when its lease has ended', async () => {
    await using under = await queueInTime<number>({ lease: '30s' })
    const { queue } = under
    await queue.pushMany([1, 2])
    const deliveries = queue.consume({ concurrency: 1 })[Symbol.asyncIterator]()
    const first = await deliveries.next()
    await first.value.extend('30s')

    let next: { data: number; attempt: number } | undefined
    const waiting = deliveries.next().then(({ value }) => (next = value))
    await under.pass(30_000)
    expect(next).toBeUndefined()
    await under.pass(30_000)
    await waiting

    expect(next).toMatchObject({ data: 1, attempt: 2 })
  })

  test.each([
    ['the signal aborts', (_: Queue<number>, controller: AbortController) => controller.abort()],
    ['the queue is closed', (queue: Queue<number>) => void queue.close()],
  ])('the loop ends when %s', async (_, end) => {
    await using under = await queueInTime<number>()
    const { queue } = under
    const controller = new AbortController()
    await queue.push(1)

    const got: number[] = []
    for (const concurrency of [1, Infinity]) {
      for await (const delivery of queue.consume({ signal: controller.signal, concurrency })) {
        got.push(delivery.data)
        end(queue, controller)
      }
    }

    expect(got).toEqual([1])
  })
})

describe('a loop', () => {
  test('skips prefetched messages whose lease has ended', async () => {
    await using under = await queueInTime<number>({ lease: '30s' })
    const { queue } = under
    await queue.pushMany([1, 2, 3])
    const deliveries = queue.consume({ prefetch: 2 })[Symbol.asyncIterator]()
    const first = await deliveries.next()
    await first.value.ack()

    await under.pass(30_000)
    const others = await queue.takeMany(1)
    const next = await deliveries.next()

    expect(others).toMatchObject([{ data: 2, attempt: 2 }])
    expect(next.value).toMatchObject({ data: 3, attempt: 2 })
    await next.value.ack()
  })

  test('continues when the file was busy for a while', async () => {
    const warned: unknown[] = []
    const log: Logger = { ...silentLog, warn: (data) => warned.push(data) }
    await using under = await queueInTime<string>({ log })
    const { queue, trouble } = under
    const deliveries = queue.consume()[Symbol.asyncIterator]()

    trouble.busyCalls = 2
    const next = deliveries.next()
    await under.pass(1_000)
    await queue.push('work')

    expect((await next).value).toMatchObject({ data: 'work', attempt: 1 })
    expect(warned).toMatchObject([
      { delayMs: 100, err: { code: 'busy' } },
      { delayMs: 200, err: { code: 'busy' } },
    ])
  })

  test('that waits for a busy file ends with its signal, and with the queue', async () => {
    const under = await queueInTime<string>()
    const { queue, trouble } = under
    const controller = new AbortController()

    trouble.busyCalls = 2
    const ends = [queue.consume({ signal: controller.signal }), queue.consume()].map((loop) =>
      loop[Symbol.asyncIterator]().next(),
    )
    await under.pass(10)
    controller.abort()
    trouble.busyCalls = 0
    await queue.close()

    expect(await Promise.all(ends)).toMatchObject([{ done: true }, { done: true }])
  })
})

describe('handle', () => {
  test('acknowledges handled messages, up to its concurrency at a time', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    const [began, ended] = [[] as number[], [] as number[]]
    const gates = new Map<number, () => void>()
    queue.handle(
      async ({ data }) => {
        began.push(data)
        await new Promise<void>((resolve) => gates.set(data, resolve))
        ended.push(data)
      },
      { concurrency: 2 },
    )

    await queue.pushMany([1, 2, 3])
    await under.pass(10)
    expect(began).toEqual([1, 2])
    gates.get(2)!()
    await under.pass(10)

    expect([began, ended]).toEqual([[1, 2, 3], [2]])
    expect(queue.counts.inFlight).toBe(2)
    gates.get(1)!()
    gates.get(3)!()
    await queue.drain()
    expect(queue.isEmpty).toBe(true)
  })

  test('a handler may ack or nack a message itself', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    queue.handle((delivery) =>
      delivery.data === 'ack' ? delivery.ack() : delivery.nack({ delay: '1m' }),
    )

    await queue.pushMany(['ack', 'nack'])
    await under.pass(10)

    expect(queue.counts).toMatchObject({ total: 1, delayed: 1 })
    expect(await queue.get(1)).toMatchObject({ data: 'nack' })
  })

  test('disposing it waits for running handlers, and takes no more messages', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    const running = gate()
    const handled: number[] = []
    const handlers = queue.handle(async ({ data }) => {
      await running.passed
      handled.push(data)
    })
    await queue.pushMany([1, 2])
    await under.pass(10)

    const stopping = handlers[Symbol.asyncDispose]()
    running.open()
    await stopping

    expect(handled).toEqual([1])
    expect(await takeAll(queue)).toEqual([2])
  })

  test('closing the queue lets running handlers acknowledge', async () => {
    const under = await queueInTime<number>()
    const { queue } = under
    const running = gate()
    queue.handle(() => running.passed)
    await queue.push(1)
    await under.pass(10)

    const closing = queue.close()
    running.open()
    await closing

    await using again = await queueInTime<number>({ database: under.database })
    expect(again.queue.isEmpty).toBe(true)
  })
})

describe('drain', () => {
  test('waits until every message is acknowledged or a dead letter', async () => {
    await using under = await queueInTime<string>({ maxAttempts: 1 })
    const { queue } = under
    await queue.pushMany(['good', 'bad'])
    const [good, bad] = await queue.takeMany(2)
    let isDrained = false

    const draining = queue.drain().then(() => (isDrained = true))
    await good!.ack()
    await under.pass(10)
    expect(isDrained).toBe(false)
    await bad!.nack()
    await draining

    expect(queue.counts).toMatchObject({ total: 1, dead: 1 })
  })

  test('rejects after its timeout, with how many are left', async () => {
    await using under = await queueInTime<string>()
    await under.queue.pushMany(['a', 'b'])

    const draining = under.queue.drain({ timeout: '5s' }).catch((error: unknown) => error)
    await under.pass(5_000)

    expect(await draining).toMatchObject({
      name: 'TimeoutError',
      afterMs: 5_000,
      message: 'queue drain: 2 messages are left after 5000 ms',
    })
  })

  test('ends with its signal', async () => {
    await using under = await queueInTime<string>()
    await under.queue.push('a')
    const controller = new AbortController()

    const draining = under.queue.drain({ signal: controller.signal })
    controller.abort(new Error('enough'))

    await expect(draining).rejects.toThrow('enough')
  })
})

describe('close', () => {
  test('waits for earlier calls, and refuses later ones', async () => {
    const under = await queueInTime<string>()
    const { queue } = under
    const pushed = queue.push('a')

    const closing = queue.close()
    const late = [queue.push('b'), queue.take(), queue.get(0), queue.dead.list(), queue.drain()]
    for (const promise of late) {
      await expect(promise).rejects.toMatchObject({ name: 'StoreError', code: 'closed' })
    }

    expect(await pushed).toBe(0)
    await closing
    await queue.close()
  })

  test('ends every open wait', async () => {
    const under = await queueInTime<string>()
    const waiting = under.queue.take({ timeout: '1m' })
    const draining = under.queue.push('a', { delay: '1m' }).then(() => under.queue.drain())
    await under.queue.get(0)

    const ends = [waiting, draining].map((promise) =>
      expect(promise).rejects.toMatchObject({ code: 'closed' }),
    )
    await under.queue.close()

    await Promise.all(ends)
  })

  test('returns messages in flight, as if they had not been taken', async () => {
    const under = await queueInTime<string>()
    await under.queue.push('a')
    await under.queue.take()
    await under.queue.close()

    await using again = await queueInTime<string>({ database: under.database })

    expect(await again.queue.take()).toMatchObject({ data: 'a', attempt: 1 })
  })
})
