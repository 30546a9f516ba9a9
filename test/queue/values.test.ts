// What goes into a message and comes out of it, and records that cannot be decoded.

import { describe, expect, test } from 'vitest'
import { type Logger, silentLog } from '../../src/base/log.ts'
import type { QueueCodec, Stored } from '../../src/queue/index.ts'
import { queueInTime, takeAll } from './support.ts'

describe('values', () => {
  test.each([
    ['text', 'tab\tnul\0lone\ud800'],
    ['nothing', undefined],
    ['a tree', { at: new Date(5), tags: new Set(['a']), big: 10n ** 30n, list: [null, -0, NaN] }],
    ['a large one', { text: 'ä€😀'.repeat(10_000) }],
  ])('%s comes back as it was', async (_, value) => {
    await using under = await queueInTime<unknown>()

    await under.queue.push(value)

    expect(await takeAll(under.queue)).toEqual([value])
  })

  test('bytes are stored as they are, small or large', async () => {
    await using under = await queueInTime<Uint8Array>()
    const items = [new Uint8Array([0, 255, 1]), new Uint8Array(0), new Uint8Array(100_000).fill(7)]
    const buffer = Buffer.from('buffer')

    const pushing = under.queue.pushMany([...items, buffer])
    items[0]!.fill(9)
    await pushing
    const row = under.database.sql('select hex(data) as hex from messages where id = 0').get()

    expect(row).toMatchObject({ hex: '00FF01' })
    const got = await takeAll(under.queue)
    expect(got.map((bytes) => bytes.constructor)).toEqual(got.map(() => Uint8Array))
    expect(got.map((bytes) => [bytes.length, bytes.at(-1)])).toEqual([
      [3, 1],
      [0, undefined],
      [100_000, 7],
      [6, 114],
    ])
  })

  test('a large one that is done leaves nothing behind', async () => {
    await using under = await queueInTime<string>()
    const { queue, database } = under
    await queue.pushMany(['x'.repeat(5_000), 'y'.repeat(5_000)])
    const [first] = await queue.takeMany(2)

    await first!.ack()
    await queue.remove([1])

    expect(database.sql('select count(*) as left from large_data').get()).toMatchObject({ left: 0 })
  })
})

/** Celsius once, Fahrenheit in version 2: the number of the version is the number of the bytes. */
function temperature(version: number): QueueCodec<{ fahrenheit: number }> {
  return {
    version,
    encode: ({ fahrenheit }) => new Uint8Array([fahrenheit]),
    decode: (data, written) => {
      const [value] = data as Uint8Array
      return { fahrenheit: written === 1 ? (value! * 9) / 5 + 32 : value! }
    },
  }
}

describe('a codec', () => {
  test('gets the version that a record was written with', async () => {
    await using old = await queueInTime({ codec: temperature(1) })
    await old.queue.push({ fahrenheit: 100 })
    await using fresh = await queueInTime({ codec: temperature(2), database: old.database })

    await fresh.queue.push({ fahrenheit: 100 })

    expect(await takeAll(fresh.queue)).toEqual([{ fahrenheit: 212 }, { fahrenheit: 100 }])
  })

  test('does not get data of a later version: that becomes a dead letter', async () => {
    await using fresh = await queueInTime({ codec: temperature(2) })
    await fresh.queue.push({ fahrenheit: 100 })
    await using old = await queueInTime({ codec: temperature(1), database: fresh.database })

    expect(await old.queue.take()).toBeUndefined()
    expect((await old.queue.dead.list())[0]).toMatchObject({
      reason:
        'queue: message 0 cannot be decoded: it was written with version 2 of the codec, this is 1',
    })
    await fresh.queue.dead.retry([0])
    expect(await takeAll(fresh.queue)).toEqual([{ fahrenheit: 100 }])
  })

  test('data of a later version is left alone when the queue is opened', async () => {
    const logged: unknown[] = []
    const log: Logger = { ...silentLog, error: (data) => logged.push(data) }
    await using fresh = await queueInTime({ codec: temperature(2) })
    await fresh.queue.push({ fahrenheit: 100 })

    await using old = await queueInTime<unknown>({ database: fresh.database, log })

    expect(old.queue.counts).toMatchObject({ ready: 1, dead: 0 })
    expect(logged).toEqual([])
    expect(await takeAll(fresh.queue)).toEqual([{ fahrenheit: 100 }])
  })

  test('does not get bytes that were pushed without one, which stay as they are', async () => {
    await using before = await queueInTime<Uint8Array>()
    await before.queue.push(new Uint8Array([1, 2]))
    await using coded = await queueInTime({ codec: temperature(1), database: before.database })
    expect(coded.queue.counts).toMatchObject({ ready: 1, dead: 0 })

    expect(await coded.queue.take()).toBeUndefined()

    expect(await coded.queue.dead.list()).toMatchObject([
      { reason: expect.stringContaining('it was written as bytes, without a codec') as string },
    ])
    await before.queue.dead.retry([0])
    expect(await takeAll(before.queue)).toEqual([new Uint8Array([1, 2])])
  })

  test('may use one buffer for all', async () => {
    const buffer = new Uint8Array(1)
    const codec: QueueCodec<number> = {
      version: 1,
      encode(value) {
        buffer[0] = value
        return buffer
      },
      decode: (data) => (data as Uint8Array)[0]!,
    }
    await using under = await queueInTime({ codec })

    await Promise.all([1, 2, 3].map((value) => under.queue.push(value)))

    expect(await takeAll(under.queue)).toEqual([1, 2, 3])
  })

  test.each([
    ['a NUL', 'a\0b'],
    ['a lone surrogate', 'a\ud800b'],
  ])('that returns text with %s fails the push, since it would not come back', async (_, text) => {
    const codec: QueueCodec<string> = { version: 1, encode: () => text, decode: String }
    await using under = await queueInTime({ codec })

    await expect(under.queue.push('x')).rejects.toThrow(
      'the codec returned a string with NUL or a lone surrogate; return bytes instead',
    )
    expect(under.queue.isEmpty).toBe(true)
  })

  test('may throw anything', async () => {
    const codec: QueueCodec<string> = {
      version: 1,
      encode: String,
      decode() {
        throw Object.create(null)
      },
    }
    await using under = await queueInTime({ codec })
    await under.queue.push('x')

    expect(await under.queue.take()).toBeUndefined()
    expect(await under.queue.dead.list()).toMatchObject([
      { reason: 'queue: message 0 cannot be decoded: an object' },
    ])
  })

  test.each([
    [{ version: 1.5 }, 'openQueue: codec: version must be a whole number, 0 or more, got 1.5'],
    [{ decode: 1 }, 'openQueue: codec must be a codec, but it has no method decode()'],
  ])('is checked: %o', async (wrong, complaint) => {
    const codec = { ...temperature(1), ...wrong } as never

    await expect(queueInTime({ codec })).rejects.toThrow(complaint)
  })

  test('that returns neither text nor bytes fails the push', async () => {
    const codec = { ...temperature(1), encode: () => 5 as never }
    await using under = await queueInTime({ codec })

    await expect(under.queue.push({ fahrenheit: 1 })).rejects.toThrow(
      'queue push: the codec must return a string or bytes, got 5',
    )
  })
})

describe.each([
  ['eager', false],
  ['lazy', true],
])('a record that cannot be decoded, in %s mode,', (_, lazy) => {
  async function withDamage() {
    await using before = await queueInTime<string>({ lazy })
    await before.queue.pushMany(['first', 'second', 'third'])
    before.database.sql(`update messages set data = '{"broken' where id = 1`).run()
    const logged: unknown[] = []
    const log: Logger = { ...silentLog, error: (data) => logged.push(data) }
    const under = await queueInTime<string>({ lazy, database: before.database, log })
    return { ...under, logged }
  }

  test('becomes a dead letter, and neither opening nor taking stops at it', async () => {
    await using under = await withDamage()
    const { queue, logged } = under

    const got = [await queue.take(), await queue.take(), await queue.take()]

    expect(got.map((delivery) => delivery?.data)).toEqual(['first', 'third', undefined])
    expect(queue.counts).toMatchObject({ inFlight: 2, dead: 1 })
    const [dead] = await queue.dead.list()
    expect(dead).toMatchObject({ id: 1, error: { code: 'unreadable', id: 1 } })
    expect(dead!.reason).toContain('message 1 cannot be decoded')
    expect(() => dead!.data).toThrow(dead!.error)
    expect(logged).toMatchObject([{ id: 1 }])
  })

  test('is an item with an error when the queue is read, and not the end', async () => {
    await using under = await withDamage()

    const items: Stored<string>[] = []
    for await (const item of under.queue) items.push(item)

    expect(items.map(({ id, error }) => [id, error?.code])).toEqual([
      [0, undefined],
      [1, 'unreadable'],
      [2, undefined],
    ])
    await expect(under.queue.get(1)).rejects.toMatchObject({ code: 'unreadable', id: 1 })
  })

  test('does not keep a waiting call from the next message', async () => {
    await using under = await withDamage()
    const { queue } = under
    await queue.remove([0, 2])
    const waiting = queue.take({ timeout: '1m' })

    await queue.push('fourth')

    expect((await waiting)?.data).toBe('fourth')
  })
})

test('many records that cannot be decoded become dead letters in one commit, with one line', async () => {
  await using before = await queueInTime<number>()
  await before.queue.pushMany(Array.from({ length: 400 }, (_, i) => i))
  before.database.sql(`update messages set data = '{"broken' where id > 0`).run()
  const logged: unknown[] = []
  const log: Logger = { ...silentLog, error: (data) => logged.push(data) }

  await using under = await queueInTime<number>({ database: before.database, log })

  expect(under.queue.counts).toMatchObject({ ready: 1, dead: 399 })
  expect(logged).toMatchObject([{ id: 1, count: 399, err: { code: 'unreadable' } }])
})

test('reading a queue shows everything that is not acknowledged, in order, and changes nothing', async () => {
  await using under = await queueInTime<number>({ maxAttempts: 1 })
  const { queue } = under
  await queue.pushMany(Array.from({ length: 1_200 }, (_, i) => i))
  const [first, second] = await queue.takeMany(2)
  await first!.ack()
  await second!.nack()
  await queue.take()
  const before = queue.counts

  const seen: number[] = []
  for await (const { data } of queue) seen.push(data)

  expect(seen).toEqual(Array.from({ length: 1_199 }, (_, i) => i + 1))
  expect(queue.counts).toEqual(before)
  expect(before).toEqual({ total: 1_199, ready: 1_197, inFlight: 1, delayed: 0, dead: 1 })
})
