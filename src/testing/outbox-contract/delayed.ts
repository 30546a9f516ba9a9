import { MAX_OUTBOX_MOVED } from '../../store/constants.ts'
import { type OutboxContract, message, messages, payloads } from './scene.ts'

/** Messages that enter their partition later. */
export function describeDelayed({ describe, test, expect, open }: OutboxContract): void {
  describe('delayed messages', () => {
    test('one is not there before its time', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const before = await scene.now()
      await scene.enqueue(message(topic, { delayMs: 60_000 }))

      const moved = await scene.outbox.moveDelayed()

      expect(moved.partitions).toEqual([])
      expect(moved.nextAt!).toBeGreaterThanOrEqual(before + 60_000)
      expect(moved.nextAt!).toBeLessThanOrEqual(moved.clock + 60_000)
      expect(await scene.work()).toEqual([])
      const courier = await scene.runtime()
      expect((await courier.claim(topic.first)).messages).toEqual([])
    })

    test('one enters its partition behind the others, and keeps its id', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [late] = await scene.enqueue(message(topic, { delayMs: 60_000, payload: '"late"' }))
      const [soon] = await scene.enqueue(message(topic, { payload: '"soon"' }))
      await scene.under.advance(60_001)

      const { partitions, nextAt } = await scene.outbox.moveDelayed()

      expect([partitions, nextAt]).toEqual([[topic.first], null])
      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)
      expect(read).toMatchObject([
        { payload: '"soon"', id: soon!.id, position: soon!.id, seq: 1 },
        { payload: '"late"', id: late!.id, seq: 2 },
      ])
      expect(read[1]!.position).toBeGreaterThan(soon!.id)
      expect(await scene.under.count('delayed')).toBe(0)
    })

    test('it keeps when it was enqueued, and expires after it was due', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(
        message(topic, { delayMs: 60_000, ttlMs: 1_000, key: 'k', headers: '{}' }),
      )
      const { nextAt } = await scene.outbox.moveDelayed()
      await scene.under.advance(90_000)
      await scene.outbox.moveDelayed()

      const courier = await scene.runtime()
      const [read] = (await courier.claim(topic.first)).messages

      expect(read).toMatchObject({
        key: 'k',
        headers: '{}',
        enqueuedAt: nextAt! - 60_000,
        expiresAt: nextAt! + 1_000,
      })
    })

    test('they enter in the order of their times', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(
        message(topic, { delayMs: 3_000, payload: '"c"' }),
        message(topic, { delayMs: 1_000, payload: '"a"' }),
        message(topic, { delayMs: 2_000, payload: '"b"' }),
        message(topic, { delayMs: 9_000, payload: '"d"' }),
      )
      await scene.under.advance(3_001)
      const { clock, nextAt } = await scene.outbox.moveDelayed()

      const courier = await scene.runtime()
      expect(payloads((await courier.claim(topic.first)).messages)).toEqual(['"a"', '"b"', '"c"'])
      expect(nextAt!).toBeGreaterThan(clock)
    })

    test('only some are moved at a time, and the next time says so', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 2)
      const partition = topic.first + 1
      const all = messages(topic, MAX_OUTBOX_MOVED, { delayMs: 1 })
      await scene.enqueue(...all, message(topic, { partition, delayMs: 2 }))
      await scene.under.advance(10)

      const first = await scene.outbox.moveDelayed()
      const second = await scene.outbox.moveDelayed()
      const third = await scene.outbox.moveDelayed()

      expect(first.partitions).toEqual([topic.first])
      expect(first.nextAt!).toBeLessThanOrEqual(first.clock)
      expect(second).toMatchObject({ partitions: [partition], nextAt: null })
      expect(third).toMatchObject({ partitions: [], nextAt: null })
      expect(await scene.under.count('messages')).toBe(MAX_OUTBOX_MOVED + 1)
    })

    test('two concurrent moves move each message once', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const other = await scene.under.another()
      await scene.enqueue(...messages(topic, 50, { delayMs: 1 }))
      await scene.under.advance(10)

      await Promise.all([scene.outbox.moveDelayed(), other.outbox.moveDelayed()])
      await scene.outbox.moveDelayed()

      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first, 100)
      expect(new Set(read.map(({ id }) => id)).size).toBe(50)
      expect(read.length).toBe(50)
    })

    test('a tick says when the next ones are due', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const courier = await scene.runtime()
      const before = await courier.tick()
      await scene.enqueue(message(topic, { delayMs: 60_000 }))

      const after = await courier.tick()

      expect(before.delayedAt).toBe(null)
      expect(after.delayedAt).toBe((await scene.outbox.moveDelayed()).nextAt)
      expect(after.work).toEqual([])
    })
  })
}
