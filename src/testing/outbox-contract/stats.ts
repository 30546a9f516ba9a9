import { apart, type OutboxContract, message, messages } from './scene.ts'

/** How full partitions are. */
export function describeStats({ describe, test, expect, open }: OutboxContract): void {
  describe('stats', () => {
    test('each partition of the topics asked for is counted, also an empty one', async () => {
      await using scene = await open()
      const orders = await scene.topic('orders', 2)
      const mails = await scene.topic('mails')
      const other = await scene.topic('other')
      await scene.enqueue(...messages(orders, 3), message(mails), message(other))

      const { partitions } = await scene.outbox.stats([mails.topic, orders.topic])

      expect(
        partitions.map(({ partition, depth, ready, delayed }) => [
          partition,
          depth,
          ready,
          delayed,
        ]),
      ).toEqual([
        [orders.first, 3, 3, 0],
        [orders.first + 1, 0, 0, 0],
        [mails.first, 1, 1, 0],
      ])
      expect(partitions[1]!.oldestAt).toBe(null)
      expect((await scene.outbox.stats([])).partitions).toEqual([])
    })

    test('what is done does not count', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 5))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      const positions = read.messages.map(({ position }) => position)
      await courier.settle(read, { to: positions[0]!, passed: 1, done: [positions[2]!] })

      const { partitions } = await scene.outbox.stats([topic.topic])

      expect(partitions).toMatchObject([{ depth: 3, ready: 3 }])
    })

    test('what waits for its time counts, and is not ready', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2, { key: 'k' }), message(topic, { delayMs: 60_000 }))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first, 1)
      const dueAt = (await scene.now()) + 60_000
      await courier.settle(read, { deferred: [apart(read.messages[0]!, dueAt)], dueAt })

      const before = await scene.outbox.stats([topic.topic])
      await scene.under.advance(60_001)
      const after = await scene.outbox.stats([topic.topic])
      await scene.outbox.moveDelayed()
      const moved = await scene.outbox.stats([topic.topic])

      expect(before.partitions).toMatchObject([{ depth: 3, ready: 0, delayed: 1 }])
      expect(after.partitions).toMatchObject([{ depth: 3, ready: 2, delayed: 1 }])
      expect(moved.partitions).toMatchObject([{ depth: 3, ready: 3, delayed: 0 }])
    })

    test('the oldest is the one that was enqueued first', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const oldest = async (): Promise<number> =>
        (await scene.outbox.stats([topic.topic])).partitions[0]!.oldestAt!
      await scene.enqueue(message(topic))
      const first = await oldest()
      await scene.under.advance(1_000)
      await scene.enqueue(message(topic))

      expect(await oldest()).toBe(first)
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      await courier.settle(read, { to: 0, passed: 0, done: [read.messages[0]!.position] })
      expect((await oldest()) - first).toBeGreaterThanOrEqual(1_000)
    })

    test('a delayed one is not old before it is due', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const oldest = async () => (await scene.outbox.stats([topic.topic])).partitions[0]!.oldestAt
      await scene.enqueue(message(topic, { delayMs: 60_000 }))
      const { nextAt } = await scene.outbox.moveDelayed()
      await scene.under.advance(59_000)
      const before = await oldest()

      await scene.under.advance(2_000)

      expect(before).toBe(null)
      expect(await oldest()).toBe(nextAt)
    })
  })
}
