import { apart, type OutboxContract, message, messages, payloads } from './scene.ts'

/** What a runtime had when it died. */
export function describeDeaths({ describe, test, expect, open }: OutboxContract): void {
  describe('messages whose runtime died', () => {
    test('have failed once more, and those behind them have not', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 5))
      const victim = await scene.runtime()
      await victim.claim(topic.first, 3)
      await scene.bury(victim)

      const other = await scene.otherRuntime()
      const claimed = await other.claim(topic.first)

      expect(claimed.abandoned).toBe(3)
      expect(claimed.messages.map(({ failures }) => failures)).toEqual([1, 1, 1, 0, 0])
      expect([...claimed.failures.values()]).toEqual([1, 1, 1])
    })

    test('it adds up, and is not forgotten by a release', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2))
      for (const read of [2, 1]) {
        const victim = await scene.runtime()
        await victim.claim(topic.first, read)
        await scene.bury(victim)
      }
      const courier = await scene.runtime()
      const claimed = await courier.claim(topic.first)
      await courier.release(claimed)

      const again = await courier.claim(topic.first)

      expect(claimed.abandoned).toBe(1)
      expect(again.abandoned).toBe(0)
      for (const { messages: read } of [claimed, again]) {
        expect(read.map(({ failures }) => failures)).toEqual([2, 1])
      }
    })

    test('only what was handed out last counts, and nothing that is done', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 6))
      const victim = await scene.runtime()
      const first = await victim.claim(topic.first, 3)
      const [one, , three] = first.messages.map(({ position }) => position)
      await victim.settle(first, { to: one!, passed: 1, done: [three!] }, { read: 2 })
      await scene.bury(victim)

      const other = await scene.otherRuntime()
      const { abandoned, messages: read } = await other.claim(topic.first)

      expect(abandoned).toBe(2)
      expect(read.map(({ payload, failures }) => [payload, failures])).toEqual([
        ['"2"', 1],
        ['"4"', 1],
        ['"5"', 0],
        ['"6"', 0],
      ])
    })

    test('messages that were released before count no attempt', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const victim = await scene.runtime()
      await victim.release(await victim.claim(topic.first))
      await scene.bury(victim)

      const other = await scene.otherRuntime()
      expect(await other.claim(topic.first)).toMatchObject({
        abandoned: 0,
        messages: [{ failures: 0 }],
      })
    })

    test('messages of a runtime that was stopped have not failed', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 3))
      const stopped = await scene.runtime()
      await stopped.claim(topic.first, 2)
      await scene.under.store.unregister(stopped.runtime)

      const other = await scene.otherRuntime()
      expect(await other.claim(topic.first)).toMatchObject({
        abandoned: 0,
        messages: [{ failures: 0 }, { failures: 0 }, { failures: 0 }],
      })
    })

    test('messages that the dead runtime settled stay settled', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 3))
      const victim = await scene.runtime()
      const read = await victim.claim(topic.first, 2)
      await victim.settle(read, {}, { read: 0, release: 'never' })
      await scene.bury(victim)

      const other = await scene.otherRuntime()
      const claimed = await other.claim(topic.first)

      expect(claimed.abandoned).toBe(0)
      expect(claimed.messages).toMatchObject([{ payload: '"3"', seq: 3, failures: 0 }])
    })

    test('those that waited apart have failed once more, too', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic, { key: 'a' }), message(topic, { key: 'b' }))
      const victim = await scene.runtime()
      const read = await victim.claim(topic.first)
      const [a, b] = read.messages
      const now = await scene.now()
      const deferred = [apart(a!, now, 1), apart(b!, now + 60_000, 1)]
      const { due } = await victim.settle(read, { deferred })
      await scene.bury(victim)
      await scene.under.advance(60_001)

      const other = await scene.otherRuntime()
      const claimed = await other.claim(topic.first)

      expect(payloads(due)).toEqual(['"hello"'])
      expect(claimed.abandoned).toBe(1)
      expect(claimed.due.map(({ key, failures }) => `${key} ${failures}`).toSorted()).toEqual([
        'a 2',
        'b 1',
      ])
    })
  })
}
