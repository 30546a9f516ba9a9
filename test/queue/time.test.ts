// Leases, attempts, back-off, delays and lives, by a clock that the test moves. The machine's own
// time passes as well, so that nothing here is a matter of less than some seconds.

import { describe, expect, test } from 'vitest'
import { failure } from '../../src/base/errors.ts'
import { queueInTime, takeAll } from './support.ts'

describe('a lease', () => {
  test('ends: the message is ready again and counted so, and the old delivery is no more', async () => {
    await using under = await queueInTime<string>({ lease: '30s' })
    const { queue } = under
    await queue.push('work')
    const old = (await queue.take())!

    await under.pass(20_000)
    expect(queue.counts).toMatchObject({ ready: 0, inFlight: 1 })
    await under.pass(10_000)
    expect(queue.counts).toMatchObject({ ready: 1, inFlight: 0 })

    await expect(old.nack()).rejects.toMatchObject({
      code: 'not_in_flight',
      message:
        'queue nack: message 0 is no longer leased to you: it was nacked, or its lease ended',
    })
    const fresh = (await queue.take())!
    expect(fresh.attempt).toBe(2)
    for (const late of [old.ack(), old.nack(), old.extend('1s')]) {
      await expect(late).rejects.toMatchObject({
        code: 'not_in_flight',
        id: 0,
        message: expect.stringContaining('its lease ended and it was delivered again') as string,
      })
    }
    expect(queue.counts.inFlight).toBe(1)
    await fresh.ack()
    expect(queue.isEmpty).toBe(true)
  })

  test('that ended does not prevent an ack, if no other user has the message', async () => {
    await using under = await queueInTime<string>({ lease: '30s' })
    await under.queue.push('work')
    const delivery = (await under.queue.take())!

    await under.pass(30_000)
    await delivery.ack()

    expect(under.queue.isEmpty).toBe(true)
  })

  test('can be extended, by so much from its end', async () => {
    await using under = await queueInTime<string>({ lease: '30s' })
    await under.queue.push('work')
    const delivery = (await under.queue.take())!

    await delivery.extend('1m')
    await under.pass(80_000)
    expect(under.queue.counts.inFlight).toBe(1)
    await under.pass(10_000)

    expect(under.queue.counts.ready).toBe(1)
  })

  test('that ends wakes waiting calls', async () => {
    await using under = await queueInTime<string>({ lease: '30s' })
    await under.queue.push('work')
    await under.queue.take()
    const waiting = under.queue.take({ timeout: '1m' })

    await under.pass(30_000)

    expect(await waiting).toMatchObject({ data: 'work', attempt: 2 })
  })

  test('that ends in the last attempt makes a dead letter', async () => {
    await using under = await queueInTime<string>({ lease: '30s', maxAttempts: 1 })
    await under.queue.push('deadly')
    await under.queue.take()

    await under.pass(30_000)

    expect(under.queue.counts).toMatchObject({ ready: 0, inFlight: 0, dead: 1 })
    expect(await under.queue.dead.list()).toMatchObject([
      { id: 0, data: 'deadly', attempt: 1, reason: 'its lease ended in attempt 1' },
    ])
  })
})

describe('dead letters', () => {
  test('are messages that failed too often, with the last reason', async () => {
    await using under = await queueInTime<string>({ maxAttempts: 2 })
    const { queue } = under
    await queue.pushMany(['bad', 'good'])

    await (await queue.take())!.nack({ reason: 'no answer' })
    await (await queue.take())!.nack({ reason: 'no answer again' })

    expect(await queue.dead.list()).toMatchObject([
      { id: 0, data: 'bad', attempt: 2, reason: 'no answer again' },
    ])
    expect(queue.counts).toEqual({ total: 2, ready: 1, inFlight: 0, delayed: 0, dead: 1 })
    expect(await takeAll(queue)).toEqual(['good'])
  })

  test('come back with all their attempts, in their place', async () => {
    await using under = await queueInTime<string>({ maxAttempts: 1 })
    const { queue } = under
    await queue.pushMany(['bad', 'good'])
    const stale = (await queue.take())!
    await stale.nack()

    expect(await queue.dead.retry([0, 1, 77])).toBe(1)

    const [again] = await queue.takeMany(2)
    expect(again).toMatchObject({ data: 'bad', attempt: 1 })
    await expect(stale.ack()).rejects.toMatchObject({ code: 'not_in_flight' })
    expect(queue.counts.inFlight).toBe(2)
  })

  test('are listed page by page, and discarded', async () => {
    await using under = await queueInTime<number>({ maxAttempts: 1 })
    const { queue } = under
    await queue.pushMany([10, 11, 12])
    for (const delivery of await queue.takeMany(3)) await delivery.nack()
    await queue.push(13)

    const first = await queue.dead.list({ limit: 2 })
    const second = await queue.dead.list({ limit: 2, after: first.at(-1)!.id })
    expect([first, second].map((page) => page.map(({ data }) => data))).toEqual([[10, 11], [12]])

    expect(await queue.dead.discard([0, 1, 3, 99])).toBe(2)
    expect(queue.counts).toMatchObject({ total: 2, ready: 1, dead: 1 })
  })
})

describe('back-off', () => {
  test('makes nacked messages wait longer with each attempt', async () => {
    await using under = await queueInTime<string>({ backoff: { initial: '1m', max: '3m' } })
    const { queue } = under
    await queue.push('flaky')

    const waited: number[] = []
    for (const _ of [1, 2, 3, 4]) {
      await (await queue.take())!.nack()
      expect(queue.counts).toMatchObject({ ready: 0, delayed: 1 })
      let ms = 0
      for (; queue.counts.ready === 0; ms += 30_000) await under.pass(30_000)
      waited.push(ms)
    }

    expect(waited).toEqual([60_000, 120_000, 180_000, 180_000])
  })

  test('is overridden by a delay', async () => {
    await using under = await queueInTime<string>({ backoff: { initial: '1s' } })
    await under.queue.push('later')

    await (await under.queue.take())!.nack({ delay: '1m' })
    await under.pass(30_000)
    expect(under.queue.counts.delayed).toBe(1)
    await under.pass(30_000)

    expect(under.queue.counts.ready).toBe(1)
  })
})

describe('a delayed message', () => {
  test('is delivered when its time has come, in its place', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.push('late', { delay: '5s' })
    await queue.push('soon')
    expect(queue.counts).toMatchObject({ ready: 1, delayed: 1 })

    const waiting = queue.takeMany(2, { timeout: '1m' })
    expect((await waiting).map(({ data }) => data)).toEqual(['soon'])
    const next = queue.take({ timeout: '1m' })
    await under.pass(5_000)

    expect((await next)?.data).toBe('late')
  })

  test('many of them at one moment come in order', async () => {
    await using under = await queueInTime<number>()
    const items = Array.from({ length: 12_000 }, (_, i) => i)
    await under.queue.pushMany(items, { delay: '5s' })

    await under.pass(5_000)

    expect(under.queue.counts).toMatchObject({ ready: 12_000, delayed: 0 })
    expect(await takeAll(under.queue)).toEqual(items.slice(0, 1_000))
  })
})

describe('a message with a time to live', () => {
  test('is gone when that is over', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.push('news', { ttl: '1m' })
    await queue.push('old news', { ttl: '1m', delay: '2m' })
    await queue.push('lasting')

    await under.pass(60_000)

    expect(queue.counts.total).toBe(1)
    expect(await queue.get(0)).toBeUndefined()
    expect(await takeAll(queue)).toEqual(['lasting'])
  })

  test('that is in flight may still be acknowledged, and does not come back', async () => {
    await using under = await queueInTime<string>({ lease: '10m' })
    const { queue } = under
    await queue.pushMany(['acked', 'nacked', 'lost'], { ttl: '1m' })
    const [acked, nacked] = await queue.takeMany(3)

    await under.pass(60_000)
    expect(queue.counts.inFlight).toBe(3)
    await acked!.ack()
    await nacked!.nack()
    expect(queue.counts).toMatchObject({ total: 1, inFlight: 1 })
    await under.pass(540_000)

    expect(queue.isEmpty).toBe(true)
  })

  test('is kept as a dead letter, and begins anew when that comes back too late', async () => {
    await using under = await queueInTime<string>({ maxAttempts: 1 })
    const { queue } = under
    await queue.push('poison', { ttl: '1m' })
    await (await queue.take())!.nack()

    await under.pass(60_000)
    expect(queue.counts.dead).toBe(1)
    await queue.dead.retry([0])
    await under.pass(50_000)
    expect(queue.counts).toMatchObject({ ready: 1, dead: 0 })
    await under.pass(10_000)

    expect(queue.isEmpty).toBe(true)
  })
})

describe('a dedupe key', () => {
  test('lets one message in within its window, even when that is acknowledged', async () => {
    await using under = await queueInTime<string>({ dedupeWindow: '5m' })
    const { queue } = under

    const first = await queue.push('order 7', { dedupeKey: 'order-7' })
    const twice = await queue.push('order 7 again', { dedupeKey: 'order-7' })
    const other = await queue.push('order 8', { dedupeKey: 'order-8' })
    for (const delivery of await queue.takeMany(10)) await delivery.ack()
    const acked = await queue.push('order 7', { dedupeKey: 'order-7' })

    expect([first, twice, other, acked]).toEqual([0, 0, 1, 0])
    expect(queue.isEmpty).toBe(true)

    await under.pass(300_000)
    expect(await queue.push('order 7', { dedupeKey: 'order-7' })).toBe(2)
  })

  test('holds for a list as a whole', async () => {
    await using under = await queueInTime<string>()

    const first = await under.queue.pushMany(['a', 'b'], { dedupeKey: 'batch' })
    const again = await under.queue.pushMany(['a', 'b', 'c'], { dedupeKey: 'batch' })

    expect([first, again]).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(under.queue.counts.total).toBe(2)
  })
})

describe('waiting', () => {
  test('for a message that never comes returns nothing', async () => {
    await using under = await queueInTime<string>()

    const [one, many] = [
      under.queue.take({ timeout: '5s' }),
      under.queue.takeMany(3, { timeout: '5s' }),
    ]
    await under.pass(5_000)

    expect([await one, await many]).toEqual([undefined, []])
  })

  test('ends with the signal, and no message is lost with it', async () => {
    await using under = await queueInTime<string>()
    const controller = new AbortController()
    const waiting = under.queue.take({ timeout: '1m', signal: controller.signal })
    const pushed = under.queue.push('kept')
    controller.abort(new Error('enough'))

    await expect(waiting).rejects.toThrow('enough')
    await expect(under.queue.take({ signal: controller.signal })).rejects.toThrow('enough')
    await pushed

    expect(await under.queue.take()).toMatchObject({ data: 'kept', attempt: 1 })
  })

  test('is served in the order of the calls', async () => {
    await using under = await queueInTime<number>()
    const takers = [1, 2, 3].map(() => under.queue.take({ timeout: '1m' }))

    await under.queue.pushMany([10, 11, 12])

    const got = await Promise.all(takers)
    expect(got.map((delivery) => delivery!.data)).toEqual([10, 11, 12])
  })
})

describe('a handler', () => {
  test('gets a failed message again after longer and longer delays', async () => {
    await using under = await queueInTime<string>({ maxAttempts: 3 })
    const { queue } = under
    const attempts: number[] = []
    queue.handle(async ({ attempt }) => {
      attempts.push(attempt)
      throw new Error(`attempt ${attempt} failed`)
    })
    await queue.push('flaky')

    await under.pass(10)
    expect(attempts).toEqual([1])
    await under.pass(1_000)
    expect(attempts).toEqual([1, 2])
    await under.pass(2_000)

    expect(attempts).toEqual([1, 2, 3])
    expect(await queue.dead.list()).toMatchObject([{ reason: 'Error: attempt 3 failed' }])
  })

  test('does not get a message again after an error that is not retryable', async () => {
    const Hopeless = failure('Hopeless', { retryable: false })
    await using under = await queueInTime<string>()
    under.queue.handle(async () => {
      throw new Hopeless('no such address')
    })

    await under.queue.push('letter')
    await under.pass(10)

    expect(await under.queue.dead.list()).toMatchObject([{ reason: 'Hopeless: no such address' }])
  })

  test('keeps its lease as long as it runs', async () => {
    await using under = await queueInTime<string>({ lease: '30s' })
    const running: (() => void)[] = []
    under.queue.handle(() => new Promise<void>((resolve) => running.push(resolve)))
    await under.queue.push('long work')

    for (const _ of [1, 2, 3, 4, 5, 6, 7, 8]) await under.pass(15_000)
    expect(under.queue.counts.inFlight).toBe(1)
    running[0]!()
    await under.pass(10)

    expect(under.queue.isEmpty).toBe(true)
  })

  test('learns when its lease is lost anyway', async () => {
    await using under = await queueInTime<string>({ lease: '30s' })
    const lost: unknown[] = []
    under.queue.handle(
      (_, { signal }) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            lost.push(signal.reason)
            resolve()
          })
        }),
    )
    const id = await under.queue.push('long work')
    await under.pass(10)

    await under.queue.remove([id])
    await under.pass(15_000)

    expect(lost).toMatchObject([{ code: 'not_in_flight', id }])
  })
})
