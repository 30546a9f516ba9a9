// What a handler gets while it runs, what is reported when it fails, and how it ends.

import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { type Logger, silentLog } from '../../src/base/log.ts'
import type { Delivery } from '../../src/queue/index.ts'
import { gate, queueInTime, stillTime } from './support.ts'

/** A log that keeps its warnings. */
function warnings() {
  const lines: { readonly data: object; readonly message: string | undefined }[] = []
  const log: Logger = { ...silentLog, warn: (data, message) => lines.push({ data, message }) }
  return { lines, log }
}

describe('the lease of a message that is being handled', () => {
  test('lasts however late the answers of the store come', async () => {
    using _ = stillTime()
    await using under = await queueInTime<string>({ lease: '30s' })
    const { queue, trouble } = under
    const attempts: number[] = []
    const running = gate()
    queue.handle(
      async ({ attempt }) => {
        attempts.push(attempt)
        await running.passed
      },
      { concurrency: 2 },
    )
    await queue.push('long work')
    await under.pass(10)

    trouble.latencyMs = 3_000
    for (let second = 0; second < 200; second++) await under.pass(1_000)
    trouble.latencyMs = 0

    running.open()
    await under.pass(10)

    expect(attempts).toEqual([1])
    expect(queue.isEmpty).toBe(true)
  })

  test('is renewed again soon when the file is busy', async () => {
    using _ = stillTime()
    await using under = await queueInTime<string>({ lease: '30s' })
    const { queue, trouble } = under
    const attempts: number[] = []
    const running = gate()
    queue.handle(
      async ({ attempt }) => {
        attempts.push(attempt)
        await running.passed
      },
      { concurrency: 2 },
    )
    await queue.push('long work')
    await under.pass(9_000)

    for (let second = 9; second < 20; second++) {
      trouble.busyCalls = 100
      await under.pass(1_000)
    }
    trouble.busyCalls = 0
    for (let second = 20; second < 60; second++) await under.pass(1_000)
    running.open()
    await under.pass(10)

    expect(attempts).toEqual([1])
  })
})

describe('a handler that throws', () => {
  test('is logged every time, and the message keeps the reason', async () => {
    const { lines, log } = warnings()
    await using under = await queueInTime<string>({ log })
    const { queue } = under
    queue.handle(async ({ attempt }) => {
      throw new TypeError(`attempt ${attempt} failed`)
    })
    const id = await queue.push('flaky')

    await under.pass(10)
    expect(await queue.get(id)).toMatchObject({ reason: 'TypeError: attempt 1 failed' })
    await under.pass(1_000)

    expect(await queue.get(id)).toMatchObject({ reason: 'TypeError: attempt 2 failed' })
    expect(lines).toMatchObject([
      { data: { id, attempt: 1, delayMs: 1_000, err: { message: 'attempt 1 failed' } } },
      { data: { id, attempt: 2, delayMs: 2_000, err: { message: 'attempt 2 failed' } } },
    ])
  })

  test.each([
    ['text', 'out of order', 'out of order'],
    ['nothing', undefined, 'undefined'],
    ['an object without anything', Object.create(null), 'an object'],
    ['text that cannot be kept', new Error('half \ud800'), 'Error: half \ufffd'],
  ])('may throw anything: %s', async (_, thrown: unknown, reason) => {
    await using under = await queueInTime<string>({ maxAttempts: 1 })
    under.queue.handle(async () => {
      throw thrown
    })

    await under.queue.push('flaky')
    await under.pass(10)

    expect(await under.queue.dead.list()).toMatchObject([{ reason }])
  })
})

describe('when the store fails after a handler has ended', () => {
  test.each([
    ['an acknowledgement', () => {}, 0],
    [
      'the nack of what was thrown',
      () => {
        throw new Error('no')
      },
      1_000,
    ],
    [
      "the handler's own nack",
      (delivery: Delivery<string>) => delivery.nack({ delay: 1_000 }),
      1_000,
    ],
  ])('%s is tried again well within the lease', async (_, handle, delayMs) => {
    const { lines, log } = warnings()
    await using under = await queueInTime<string>({ log, lease: '30s' })
    const { queue, trouble } = under
    const attempts: number[] = []
    const running = gate()
    queue.handle(async (delivery) => {
      attempts.push(delivery.attempt)
      if (delivery.attempt > 1) return
      await running.passed
      await handle(delivery)
    })
    await queue.push('x')
    await under.pass(10)

    trouble.busyCalls = 3
    running.open()
    await under.pass(5_000)
    await under.pass(delayMs)

    expect(trouble.busyCalls).toBe(0)
    expect(queue.isEmpty).toBe(true)
    expect(attempts).toEqual(delayMs === 0 ? [1] : [1, 2])
    const retries = lines.filter(({ message }) => message?.includes('retrying'))
    expect(retries.length).toBeGreaterThanOrEqual(2)
  })

  test('close() waits for it, within its 30 seconds, and leaves no timer', async () => {
    const under = await queueInTime<string>({ lease: '5m' })
    const { queue, trouble } = under
    queue.handle(async () => void (trouble.busyCalls = Infinity))
    await queue.push('x')
    await under.pass(10)

    const closed = queue.close().catch((error: unknown) => error)
    await under.pass(20_000)
    expect(under.timers()).toBeGreaterThan(0)
    await under.pass(10_000)

    expect(await closed).toMatchObject({ code: 'busy' })
    expect(under.timers()).toBe(0)
  })
})

describe('the signal of a handler', () => {
  test('is one, and nothing of it is left when the handler has ended', async () => {
    await using under = await queueInTime<string>({ lease: '10m' })
    const { queue } = under
    const signals: AbortSignal[] = []
    const handlers = queue.handle(async ({ data }, ctx) => {
      expect(ctx.signal).toBe(ctx.signal)
      signals.push(ctx.signal)
      if (data === 'quick') return
      await new Promise<void>((resolve) => {
        ctx.signal.addEventListener('abort', () => resolve())
      })
    })
    await queue.pushMany(['quick', 'endless'])
    await under.pass(10)

    const stopping = handlers[Symbol.asyncDispose]()
    await under.pass(30_000)
    await stopping

    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
    expect(signals[1]!.reason).toMatchObject({ name: 'CancelledError' })
    expect(getEventListeners(signals[0]!, 'abort')).toEqual([])
  })
})

describe('the end', () => {
  test('close() waits 30 seconds for a handler that hangs, and leaves no timer', async () => {
    const under = await queueInTime<string>({ lease: '1m' })
    const { queue } = under
    const signals: AbortSignal[] = []
    queue.handle((_, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    await queue.push('endless')
    await under.pass(10)

    const closing = queue.close()
    await under.pass(29_000)
    expect(under.timers()).toBeGreaterThan(0)
    await under.pass(1_000)
    await closing
    await under.pass(60_000)

    expect(under.timers()).toBe(0)
    expect(signals[0]!.aborted).toBe(true)
  })

  test('close() waits for handlers that are being disposed, too', async () => {
    const under = await queueInTime<string>()
    const { queue } = under
    const running = gate()
    const handlers = queue.handle(() => running.passed)
    await queue.push('work')
    await under.pass(10)

    const disposing = handlers[Symbol.asyncDispose]()
    const closing = queue.close()
    await under.pass(10)
    running.open()
    await Promise.all([disposing, closing])

    await using again = await queueInTime<string>({ database: under.database })
    expect(again.queue.isEmpty).toBe(true)
  })
})

test('a lease that ended unnoticed is logged, and the message is delivered again', async () => {
  const { lines, log } = warnings()
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
  expect(lines).toMatchObject([{ data: { id: 0, attempt: 1, err: { code: 'not_in_flight' } } }])
  await taken!.ack()
})
