import type { NewMessage } from '../../store/outbox-store.ts'
import type { OpenUserTransaction } from './outbox-under-test.ts'
import { type OutboxContract, message, type OutboxScene, payloads } from './scene.ts'

/** Transactions that enqueue at the same time. Only for stores where they can. */
export function describeOverlapping({ describe, test, expect, open }: OutboxContract): void {
  describe('transactions that overlap', () => {
    test('nothing is read before it is committed', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const courier = await scene.runtime()
      const a = await begin(scene, message(topic))

      const before = await courier.claim(topic.first)
      await a.commit()
      const after = await courier.settle(before)

      expect([before.messages.length, after.messages.length]).toEqual([0, 1])
      expect(after.isBlocked).toBe(false)
    })

    test('what was committed first waits for what was enqueued before it', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const courier = await scene.runtime()
      const a = await begin(scene, message(topic, { payload: '"a"' }))
      const b = await begin(scene, message(topic, { payload: '"b"' }))
      await b.commit()

      const before = await courier.claim(topic.first)
      const { work } = await scene.outbox.look([topic.first])
      await a.commit()
      const after = await courier.settle(before)

      expect(before).toMatchObject({ messages: [], isBlocked: true })
      expect(work).toEqual([])
      expect(payloads(after.messages)).toEqual(['"a"', '"b"'])
      expect(after.messages.map(({ seq }) => seq)).toEqual([1, 2])
      expect(after.isBlocked).toBe(false)
    })

    test('what was enqueued before an open transaction is read at once', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 20)
      const courier = await scene.runtime()
      await scene.enqueue(message(topic, { payload: '"before"' }))
      // It has announced another partition earlier, and adds to this one several times.
      const a = await scene.under.openTransaction()
      const inside = scene.outbox.within(a.tx, { notify: true })
      await scene.enqueue(message(topic, { payload: '"between"' }))
      await inside.enqueue([message(topic, { payload: '"a1"' })])
      await inside.enqueue([message(topic, { partition: topic.first + 17, payload: '"other"' })])
      await scene.enqueue(message(topic, { payload: '"after"' }))
      await inside.enqueue([message(topic, { payload: '"a2"' })])

      const before = await courier.claim(topic.first)
      await a.commit()
      const after = await courier.settle(before)

      expect(payloads(before.messages)).toEqual(['"before"', '"between"'])
      expect(before.isBlocked).toBe(true)
      expect(payloads(after.messages)).toEqual(['"a1"', '"after"', '"a2"'])
      expect(after.isBlocked).toBe(false)
    })

    test('a rollback lets the others through, without a gap in their numbers', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const courier = await scene.runtime()
      const a = await begin(scene, message(topic, { payload: '"a"' }))
      const b = await begin(scene, message(topic, { payload: '"b"' }))
      await b.commit()
      const before = await courier.claim(topic.first)

      await a.rollback()
      const after = await courier.settle(before)

      expect(before.messages).toEqual([])
      expect(after.messages.map(({ payload, seq }) => [payload, seq])).toEqual([['"b"', 1]])
    })

    test('other partitions are not held up', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 2)
      const partition = topic.first + 1
      const courier = await scene.runtime()
      const a = await begin(scene, message(topic))
      const b = await begin(scene, message(topic, { partition, payload: '"b"' }))
      await b.commit()

      const read = await courier.claim(partition)
      await a.commit()

      expect(payloads(read.messages)).toEqual(['"b"'])
    })

    test('a reader goes on while transactions keep overlapping', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const courier = await scene.runtime()
      let last = await begin(scene, message(topic, { payload: '"0"' }))
      let read = await courier.claim(topic.first)
      const delivered: string[] = []
      for (let i = 1; i <= 20; i++) {
        // There is always one that is open.
        const next = await begin(scene, message(topic, { payload: `"${i}"` }))
        await last.commit()
        last = next
        read = await courier.settle(read)
        delivered.push(...payloads(read.messages))
      }
      await last.commit()
      read = await courier.settle(read)
      delivered.push(...payloads(read.messages))

      expect(delivered.slice(0, -1).length).toBeGreaterThan(10)
      expect(delivered).toEqual(Array.from({ length: 21 }, (_, i) => `"${i}"`))
    })

    test('two with the same dedupe key: the second waits, and is a duplicate or not', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const once = message(topic, { dedupeKey: 'once' })
      for (const end of ['commit', 'rollback'] as const) {
        const dedupeKey = `once-${end}`
        const a = await begin(scene, { ...once, dedupeKey })
        const b = await scene.under.openTransaction()
        const second = scene.outbox.within(b.tx, { notify: true }).enqueue([{ ...once, dedupeKey }])
        await a[end]()
        const [enqueued] = await second
        await b.commit()

        expect(enqueued!.isDuplicate).toBe(end === 'commit')
      }
      expect(await scene.under.count('messages')).toBe(2)
    })

    test('requeued dead letters and delayed messages keep the order, too', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [letter] = await scene.deadLetters(topic, 1)
      await scene.enqueue(message(topic, { payload: '"delayed"', delayMs: 1 }))
      await scene.under.advance(10)
      const a = await begin(scene, message(topic, { payload: '"a"' }))
      await scene.outbox.requeueDeadLetters([letter!.letter])
      await scene.outbox.moveDelayed()

      const courier = await scene.runtime()
      const before = await courier.claim(topic.first)
      await a.commit()
      const after = await courier.settle(before)

      expect(before.messages).toEqual([])
      expect(payloads(after.messages)).toEqual(['"a"', '"1"', '"delayed"'])
    })
  })
}

/** A transaction that has enqueued these and is open. */
async function begin(
  scene: OutboxScene,
  ...messages: readonly NewMessage[]
): Promise<OpenUserTransaction> {
  const transaction = await scene.under.openTransaction()
  await scene.outbox.within(transaction.tx, { notify: true }).enqueue(messages)
  return transaction
}
