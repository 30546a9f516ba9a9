import { ALL, apart, deadly, type OutboxContract, message, messages, payloads } from './scene.ts'

/** Removing what is no longer needed. */
export function describeRemoving({ describe, test, expect, open }: OutboxContract): void {
  describe('removing messages that are done', () => {
    test('only those behind the cursor are removed, some at a time', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 6))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      const positions = read.messages.map(({ position }) => position)
      await courier.settle(read, { to: positions[2]!, passed: 3, done: [positions[4]!] })

      const removed = [
        await scene.outbox.removeDone(2),
        await scene.outbox.removeDone(2),
        await scene.outbox.removeDone(2),
      ]

      expect(removed).toEqual([2, 1, 0])
      expect(await scene.under.count('messages')).toBe(3)
      const left = await courier.claim(topic.first)
      expect(left.messages.map(({ payload, seq }) => [payload, seq])).toEqual([
        ['"4"', 4],
        ['"6"', 6],
      ])
    })

    test('nothing is removed that was never read', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 3)
      const all = [0, 1, 2].map((i) => message(topic, { partition: topic.first + i }))
      await scene.enqueue(...all, ...all)
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first + 1, 1)
      await courier.settle(read, {}, { release: 'always' })

      expect(await scene.outbox.removeDone(100)).toBe(1)

      expect(await scene.under.count('messages')).toBe(5)
      expect(await scene.ready()).toEqual([0, 1, 2].map((i) => topic.first + i))
    })

    test('positions and numbers go on after everything was removed', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [first] = await scene.enqueue(message(topic))
      const courier = await scene.runtime()
      await courier.settle(await courier.claim(topic.first), {}, { release: 'always' })
      await scene.outbox.removeDone(10)

      const [second] = await scene.enqueue(message(topic))

      expect(second!.id).toBeGreaterThan(first!.id)
      expect((await courier.claim(topic.first)).messages).toMatchObject([{ seq: 2 }])
    })

    test('what became a dead letter, or waits apart, is kept', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2, { key: 'k' }))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      const [one, two] = read.messages
      await courier.settle(read, { dead: [deadly(one!)], deferred: [apart(two!, 0)] })

      expect(await scene.outbox.removeDone(10)).toBe(2)

      expect(payloads(await scene.outbox.deadLetters(ALL))).toEqual(['"1"'])
      expect(payloads((await courier.claim(topic.first)).due)).toEqual(['"2"'])
    })
  })
}
