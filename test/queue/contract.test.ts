// The 17 behaviours of the contract (part C.3), by their numbers there, in both modes.

import { describe, expect, test } from 'vitest'
import { defaultQueueCodec, type QueueCodec } from '../../src/queue/payloads.ts'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { MODES, queueFile, takeAll } from './support.ts'

function countingCodec() {
  const counting = {
    decoded: 0,
    version: 0,
    encode: (value: unknown) => defaultQueueCodec.encode(value),
    decode(data: Uint8Array | string, version: number): unknown {
      counting.decoded++
      return defaultQueueCodec.decode(data, version)
    },
  } satisfies QueueCodec<unknown> & { decoded: number }
  return counting
}

describe.each(MODES)('a queue opened in %s mode', (_, mode) => {
  test('keeps a message until it is acknowledged [push_persists_event_until_ack]', async () => {
    await using file = queueFile()
    let queue = await file.open<string>(mode)

    const id = await queue.push('first')
    const taken = await queue.take()

    expect(id).toBe(0)
    expect(taken).toMatchObject({ id, data: 'first', attempt: 1 })
    expect(queue.counts).toMatchObject({ ready: 0, inFlight: 1, total: 1 })

    queue = await file.reopen(queue, mode)
    const again = await queue.take()
    expect(again).toMatchObject({ id, data: 'first', attempt: 1 })
    await again!.ack()

    queue = await file.reopen(queue, mode)
    expect(queue.isEmpty).toBe(true)
    expect(await queue.take()).toBeUndefined()
  })

  test('shows a message by its id without delivering it [get_returns_event_by_id_without_polling]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const [, second] = await queue.pushMany(['first', 'second'])

    const shown = await queue.get(second!)

    expect(shown).toEqual({
      id: second,
      data: 'second',
      attempt: 0,
      pushedAt: expect.any(Date) as Date,
    })
    expect(queue.counts.ready).toBe(2)
    expect(await takeAll(queue)).toEqual(['first', 'second'])
  })

  test('does not show a message that was acknowledged [get_returns_none_after_ack]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const id = await queue.push('first')

    expect(await queue.get(id)).toMatchObject({ data: 'first' })
    await (await queue.take())!.ack()

    expect(await queue.get(id)).toBeUndefined()
  })

  test('stores nothing when there are no ids left [push_at_id_max_overflows]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const other = openDriver(file.path, undefined)
    other.exec(`update queues set next_id = ${Number.MAX_SAFE_INTEGER - 1}`)
    other.close()

    await expect(queue.pushMany(['one', 'too many'])).rejects.toMatchObject({
      code: 'ids_exhausted',
    })
    expect(await queue.push('last')).toBe(Number.MAX_SAFE_INTEGER - 1)
    await expect(queue.push('boom')).rejects.toMatchObject({
      name: 'QueueError',
      code: 'ids_exhausted',
      message: 'queue push: there are no ids left',
    })

    expect(await takeAll(queue)).toEqual(['last'])
  })

  test('delivers nacked messages again [nack_requeues_event_for_reprocessing]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const id = await queue.push('retry me')

    const first = await queue.take()
    expect(queue.counts.ready).toBe(0)
    await first!.nack()
    expect(queue.counts.ready).toBe(1)
    const second = await queue.take()

    expect(second).toMatchObject({ id, attempt: 2 })
    expect(queue.counts.total).toBe(1)
    await second!.ack()
    expect(queue.isEmpty).toBe(true)
  })

  test('delivers nacked messages before later ones [nack_requeues_event_before_ready_events]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    await queue.pushMany(['first', 'second'])

    await (await queue.take())!.nack()

    expect(await takeAll(queue)).toEqual(['first', 'second'])
  })

  test('refuses to nack an unknown message [nack_unknown_id_returns_error]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const id = await queue.push('first')
    const delivery = await queue.take()
    await queue.remove([id])

    await expect(delivery!.nack()).rejects.toMatchObject({
      name: 'QueueError',
      code: 'not_in_flight',
      id,
      message:
        'queue nack: message 0 is no longer leased to you: it was acknowledged, removed, or has expired',
    })
  })

  test('acknowledges many at once [ack_many_removes_multiple_events]', async () => {
    await using file = queueFile()
    let queue = await file.open<string>(mode)
    await queue.pushMany(['first', 'second', 'third'])
    const [first, , third] = await queue.takeMany(3)

    await queue.ack([first!, third!])

    queue = await file.reopen(queue, mode)
    expect(await takeAll(queue)).toEqual(['second'])
    expect(await queue.take()).toBeUndefined()
  })

  test('ignores ids that are acknowledged or removed twice, or unknown [ack_many_is_idempotent_for_unknown_ids]', async () => {
    await using file = queueFile()
    let queue = await file.open<string>(mode)
    const id = await queue.push('first')
    const delivery = (await queue.take())!

    await queue.ack([delivery, delivery])
    await queue.ack([delivery])
    await delivery.ack()

    expect(await queue.remove([id, 99, id, 99])).toBe(0)
    queue = await file.reopen(queue, mode)
    expect(queue.isEmpty).toBe(true)
  })

  test('delivers recovered messages in the order they were pushed [lazy_recovered_events_keep_fifo_order] [recovered_events_keep_fifo_order]', async () => {
    await using file = queueFile()
    let queue = await file.open<string>(mode)
    await queue.push('first')
    await queue.push('second')

    queue = await file.reopen(queue, mode)

    expect((await queue.take())?.data).toBe('first')
    expect((await queue.take())?.data).toBe('second')
    expect(await queue.take()).toBeUndefined()
  })

  test('skips messages in flight, and delivers nothing twice [lazy_poll_skips_in_flight_events_without_duplicating]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    await queue.pushMany(['first', 'second'])
    const first = await queue.take()
    const second = await queue.take()
    expect(queue.counts.ready).toBe(0)

    await first!.nack()
    expect(await takeAll(queue)).toEqual(['first'])
    await second!.nack()

    expect(await takeAll(queue)).toEqual(['second'])
  })

  test('goes back for nacked messages, and continues from there [lazy_nack_makes_event_available_before_later_ready_events] [lazy_scan_cursor_advances_and_rewinds_on_nack]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    await queue.pushMany(['first', 'second', 'third'])

    const first = await queue.take()
    await first!.nack()
    const again = await queue.take()
    const second = await queue.take()
    expect([again!.data, second!.data]).toEqual(['first', 'second'])
    await again!.ack()
    await second!.nack()

    expect(await takeAll(queue)).toEqual(['second', 'third'])
  })

  test('removes messages in flight and ready ones [lazy_ack_many_removes_in_flight_and_ready_events]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const [first, , third] = await queue.pushMany(['first', 'second', 'third'])
    expect((await queue.take())?.data).toBe('first')

    expect(await queue.remove([first!, third!])).toBe(2)

    expect(await takeAll(queue)).toEqual(['second'])
    expect(queue.counts).toEqual({ total: 1, ready: 0, inFlight: 1, delayed: 0, dead: 0 })
  })

  test('wakes a waiting take with a push [lazy_push_wakes_blocking_poll]', async () => {
    await using file = queueFile()
    const queue = await file.open<string>(mode)
    const waiting = queue.take({ timeout: '20s' })
    await queue.get(0)

    const startMs = performance.now()
    await queue.push('news')
    const delivery = await waiting

    expect(delivery?.data).toBe('news')
    expect(performance.now() - startMs).toBeLessThan(10_000)
  })
})

describe('decoding', () => {
  test('a lazy queue decodes nothing before it is taken [lazy_open_does_not_deserialize_recovered_values_until_poll]', async () => {
    await using file = queueFile()
    await (await file.open<unknown>()).push('large payload')
    const codec = countingCodec()

    const queue = await file.open<unknown>({ lazy: true, codec })

    expect(queue.counts.ready).toBe(1)
    expect(codec.decoded).toBe(0)
    expect((await queue.take())?.data).toBe('large payload')
    expect(codec.decoded).toBe(1)
  })

  test('an eager queue decodes everything when it is opened', async () => {
    await using file = queueFile()
    await (await file.open<unknown>()).pushMany(['one', 'two'])
    const codec = countingCodec()

    await file.open<unknown>({ codec })

    expect(codec.decoded).toBe(2)
  })
})
