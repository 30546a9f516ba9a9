// Loops over deliveries, handlers, and how a queue comes to an end.

import { describe, expect, test } from 'vitest'
import type { Logger } from '../../src/base/log.ts'
import { silentLog } from '../../src/base/log.ts'
import type { Queue } from '../../src/queue/index.ts'
import { queueInTime, takeAll } from './support.ts'

/** A promise and what resolves it. */
function gate<T = void>() {
  let open!: (value: T) => void
  const passed = new Promise<T>((resolve) => (open = resolve))
  return { passed, open }
}

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

  test('what was taken ahead and not looked at is given back, as if never delivered', async () => {
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

  test('at most so many deliveries are out at a time', async () => {
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

  test('a delivery that nobody settled makes room when its lease has ended', async () => {
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

describe('handle', () => {
  test('acknowledges what was handled, so many at a time', async () => {
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

  test('what a handler says of a message itself is what counts', async () => {
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

  test('disposing it waits for what runs, and takes nothing more', async () => {
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

  test('closing the queue lets what runs be acknowledged', async () => {
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
  test('waits until all is acknowledged or dead', async () => {
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

  test('gives up after its time, saying what is left', async () => {
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
  test('waits for what was asked for, and refuses what is asked after', async () => {
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

  test('ends the wait of whoever waits', async () => {
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

  test('gives back what is in flight, with the attempt counted', async () => {
    const under = await queueInTime<string>()
    await under.queue.push('a')
    await under.queue.take()
    await under.queue.close()

    await using again = await queueInTime<string>({ database: under.database })

    expect(await again.queue.take()).toMatchObject({ data: 'a', attempt: 2 })
  })
})

describe('what is said to a queue', () => {
  test.each([
    [
      (queue: Queue<unknown>) => queue.push(1, { prioritty: 1 } as never),
      'did you mean "priority"?',
    ],
    [(queue) => queue.push(1, { priority: 1.5 }), 'priority must be a whole number'],
    [(queue) => queue.push(1, { delay: 'soon' as never }), 'delay must be milliseconds or text'],
    [(queue) => queue.push(1, { key: '' }), 'key must be text that is not empty, got ""'],
    [(queue) => queue.push(1, { ttl: 0 }), 'ttl must be at least 1 ms'],
    [(queue) => queue.push(() => {}), 'queue push: cannot store a function at $'],
    [(queue) => queue.pushMany('text' as never), 'items must be a list, got "text"'],
    [(queue) => queue.get(-1), 'queue get: id must be a whole number, 0 or more, got -1'],
    [(queue) => queue.take({ timout: 1 } as never), 'did you mean "timeout"?'],
    [(queue) => queue.take({ signal: 1 as never }), 'signal must be an AbortSignal, got 1'],
    [(queue) => queue.takeMany(0), 'max must be a whole number, 1 or more, got 0'],
    [
      (queue) => queue.ack([{ id: 0 } as never]),
      'expected deliveries of this queue, got an object',
    ],
    [(queue) => queue.remove([0.5]), 'queue remove: ids[0] must be a whole number'],
    [(queue) => queue.dead.list({ limit: 0 }), 'limit must be a whole number, 1 or more, got 0'],
    [async (queue) => queue.consume({ prefetch: -1 }), 'prefetch must be a whole number'],
    [async (queue) => queue.handle('x' as never), 'run must be a function, got "x"'],
    [
      async (queue) => queue.handle(async () => {}, { concurrency: 0 }),
      'concurrency must be a whole',
    ],
  ] satisfies [(queue: Queue<unknown>) => Promise<unknown>, string][])(
    'is checked: %s',
    async (say, complaint) => {
      await using under = await queueInTime<unknown>()

      await expect(say(under.queue)).rejects.toThrow(complaint)
      expect(under.queue.isEmpty).toBe(true)
    },
  )

  test('a delivery of another queue is refused', async () => {
    await using under = await queueInTime<string>()
    await using other = await queueInTime<string>()
    await other.queue.push('theirs')
    const theirs = await other.queue.take()

    await expect(under.queue.ack([theirs!])).rejects.toThrow('expected deliveries of this queue')
  })
})

test('a handler whose lease ended unseen is logged, and the message is delivered again', async () => {
  const lines: unknown[] = []
  const log: Logger = { ...silentLog, warn: (data) => lines.push(data) }
  await using under = await queueInTime<string>({ log })
  const { queue, store } = under
  const running = gate()
  queue.handle(() => running.passed)
  await queue.push('a')
  await under.pass(10)

  // As if the event loop had been held up for a minute: no timer came to extend the lease.
  store.advanceClock(60_000)
  const taken = await queue.take()
  running.open()
  await under.pass(10)

  expect(taken).toMatchObject({ attempt: 2 })
  expect(lines).toMatchObject([{ id: 0, attempt: 1, err: { code: 'not_in_flight' } }])
  await taken!.ack()
})
