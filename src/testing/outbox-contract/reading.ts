import { MAX_OUTBOX_READ_BYTES } from '../../store/constants.ts'
import { type OutboxContract, message, messages, payloads } from './scene.ts'

/** How much is read at once. */
export function describeReading({ describe, test, expect, open }: OutboxContract): void {
  describe('reading', () => {
    test('as many are read as asked for, and none when none are', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 150))
      const courier = await scene.runtime()

      for (const count of [0, 1, 49, 50, 51, 149]) {
        const { messages: read } = await courier.claim(topic.first, count)
        expect(read.length).toBe(count)
      }
      expect((await courier.claim(topic.first, 1_000)).messages.length).toBe(150)
    })

    test('messages of several transactions come in the order of their commits', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const other = await scene.under.another()
      for (const payload of ['"a"', '"b"']) {
        await scene.enqueue(message(topic, { payload }))
        await scene.enqueueTo(other.outbox, message(topic, { payload: payload.toUpperCase() }))
      }

      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)

      expect(payloads(read)).toEqual(['"a"', '"A"', '"b"', '"B"'])
    })

    test('large messages are read a few at a time, one at least', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const third = 'x'.repeat(Math.floor(MAX_OUTBOX_READ_BYTES / 3))
      const huge = 'x'.repeat(MAX_OUTBOX_READ_BYTES + 1)
      for (const payload of [third, third, third, third, huge, '1', '2']) {
        await scene.enqueue(message(topic, { payload }))
      }
      const courier = await scene.runtime()

      const sizes: number[] = []
      let read = await courier.claim(topic.first)
      while (read.messages.length > 0) {
        sizes.push(read.messages.length)
        read = await courier.settle(read)
      }

      expect(sizes).toEqual([3, 1, 1, 2])
    })

    test('bytes are counted, not characters', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      // Three bytes each, of which there are a third as many.
      const half = '€'.repeat(Math.ceil(MAX_OUTBOX_READ_BYTES / 6) + 1)
      await scene.enqueue(message(topic, { payload: half }), message(topic, { payload: half }))

      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)

      expect(read.map(({ payload }) => payload === half)).toEqual([true])
    })
  })
}
