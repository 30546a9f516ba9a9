import { type OutboxContract, message, messages, payloads } from './scene.ts'

/** Storing messages in transactions of the user. */
export function describeEnqueue({ describe, test, expect, open }: OutboxContract): void {
  describe('enqueue', () => {
    test('a message comes back with all that was given', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const headers = '{"trace":"1"}'
      const before = await scene.now()

      const [one, two] = await scene.enqueue(
        message(topic, { key: 'Kim', payload: '{"n":1}', headers, ttlMs: 5_000 }),
        message(topic),
      )

      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)
      const { enqueuedAt } = read[0]!
      expect(enqueuedAt).toBeGreaterThanOrEqual(before)
      expect(enqueuedAt).toBeLessThanOrEqual(await scene.now())
      expect(read).toEqual([
        {
          position: one!.id,
          id: one!.id,
          seq: 1,
          key: 'Kim',
          payload: '{"n":1}',
          headers,
          enqueuedAt,
          expiresAt: enqueuedAt + 5_000,
          failures: 0,
        },
        {
          position: two!.id,
          id: two!.id,
          seq: 2,
          key: null,
          payload: '"hello"',
          headers: null,
          enqueuedAt,
          expiresAt: null,
          failures: 0,
        },
      ])
    })

    test('ids grow in the order given, over transactions and topics', async () => {
      await using scene = await open()
      const orders = await scene.topic('orders', 2)
      const mails = await scene.topic('mails')

      const enqueued = [
        ...(await scene.enqueue(message(orders), message(mails), message(orders))),
        ...(await scene.enqueue(message(mails))),
        ...(await scene.enqueue(message(orders, { partition: orders.first + 1 }))),
      ]

      const ids = enqueued.map(({ id }) => id)
      expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
      expect(ids[0]!).toBeGreaterThan(0)
      expect(enqueued.map(({ isDuplicate }) => isDuplicate)).toEqual(ids.map(() => false))
    })

    test('a rollback leaves nothing behind', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const { tx, rollback } = await scene.under.openTransaction()
      await scene.outbox
        .within(tx, { notify: true })
        .enqueue([
          message(topic, { dedupeKey: 'once' }),
          message(topic, { delayMs: 1_000, dedupeKey: 'twice' }),
        ])
      await rollback()

      expect(await scene.under.count('messages')).toBe(0)
      expect(await scene.under.count('delayed')).toBe(0)
      expect(await scene.under.count('keys')).toBe(0)
      expect(await scene.work()).toEqual([])
    })

    test('several calls in one transaction keep their order', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const { tx, commit } = await scene.under.openTransaction()
      const inside = scene.outbox.within(tx, { notify: true })
      for (const payload of ['"a"', '"b"', '"c"'])
        await inside.enqueue([message(topic, { payload })])
      const last = await scene.outbox
        .within(tx, { notify: false })
        .enqueue([message(topic, { payload: '"d"' })])
      await commit()

      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)
      expect(payloads(read)).toEqual(['"a"', '"b"', '"c"', '"d"'])
      expect(read[3]!.id).toBe(last[0]!.id)
    })

    test('a thousand messages of one call keep their order and their partitions', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 2)
      const all = Array.from({ length: 1_000 }, (_, i) =>
        message(topic, { payload: String(i), partition: topic.first + (i % 2) }),
      )

      const enqueued = await scene.enqueue(...all)

      const courier = await scene.runtime()
      const even = await courier.claim(topic.first, 1_000)
      const odd = await courier.claim(topic.first + 1, 1_000)
      expect(enqueued.length).toBe(1_000)
      expect(payloads(even.messages)).toEqual(Array.from({ length: 500 }, (_, i) => String(2 * i)))
      expect(odd.messages.map(({ seq }) => seq)).toEqual(
        Array.from({ length: 500 }, (_, i) => i + 1),
      )
    })
  })

  describe('dedupe keys', () => {
    test('a second message with the same key is not stored, and answers the first id', async () => {
      await using scene = await open()
      const topic = await scene.topic()

      const [first] = await scene.enqueue(message(topic, { dedupeKey: 'once' }))
      const [again] = await scene.enqueue(message(topic, { dedupeKey: 'once', payload: '"other"' }))

      expect(first).toMatchObject({ isDuplicate: false })
      expect(again).toEqual({ id: first!.id, isDuplicate: true })
      expect(await scene.under.count('messages')).toBe(1)
    })

    test('also in one call, beside others that are stored', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const once = message(topic, { dedupeKey: 'once' })

      const [a, b, c, d] = await scene.enqueue(
        once,
        message(topic, { payload: '"between"' }),
        once,
        message(topic, { payload: '"last"', dedupeKey: 'other' }),
      )

      expect([a, b, c, d].map((one) => one!.isDuplicate)).toEqual([false, false, true, false])
      expect(c!.id).toBe(a!.id)
      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)
      expect(payloads(read)).toEqual(['"hello"', '"between"', '"last"'])
      expect(read.map(({ id }) => id)).toEqual([a!.id, b!.id, d!.id])
    })

    test('each topic has its own', async () => {
      await using scene = await open()
      const orders = await scene.topic('orders')
      const mails = await scene.topic('mails')
      await scene.enqueue(message(orders, { dedupeKey: 'once' }))

      const [other] = await scene.enqueue(message(mails, { dedupeKey: 'once' }))

      expect(other!.isDuplicate).toBe(false)
    })

    test('a key whose transaction was rolled back does not count', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const { tx, rollback } = await scene.under.openTransaction()
      await scene.outbox
        .within(tx, { notify: true })
        .enqueue([message(topic, { dedupeKey: 'once' })])
      await rollback()

      const [stored] = await scene.enqueue(message(topic, { dedupeKey: 'once' }))

      expect(stored!.isDuplicate).toBe(false)
      expect(await scene.under.count('messages')).toBe(1)
    })

    test('one is remembered after its message was delivered and removed, until it is old', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [first] = await scene.enqueue(message(topic, { dedupeKey: 'once' }))
      const courier = await scene.runtime()
      await courier.settle(await courier.claim(topic.first), {}, { release: 'always' })
      expect(await scene.outbox.removeDone(10)).toBe(1)

      await scene.under.advance(5_000)
      await scene.outbox.tidy({ keysMs: 10_000, lettersMs: 0 })
      const [soon] = await scene.enqueue(message(topic, { dedupeKey: 'once' }))
      await scene.under.advance(6_000)
      await scene.outbox.tidy({ keysMs: 10_000, lettersMs: 0 })
      const [late] = await scene.enqueue(message(topic, { dedupeKey: 'once' }))

      expect(soon).toEqual({ id: first!.id, isDuplicate: true })
      expect(late!.isDuplicate).toBe(false)
      expect(late!.id).toBeGreaterThan(first!.id)
    })

    test('one of a delayed message counts before that is due', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [first] = await scene.enqueue(message(topic, { dedupeKey: 'once', delayMs: 60_000 }))

      const [again] = await scene.enqueue(message(topic, { dedupeKey: 'once' }))

      expect(again).toEqual({ id: first!.id, isDuplicate: true })
      expect(await scene.under.count('messages')).toBe(0)
      expect(await scene.under.count('delayed')).toBe(1)
    })

    test('the same key enqueued from two connections, one after the other, is stored once', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const other = await scene.under.another()
      const many = messages(topic, 3, { dedupeKey: 'once' })

      const [first] = await scene.enqueue(...many)
      const again = await scene.enqueueTo(other.outbox, ...many)

      expect(again.map(({ id }) => id)).toEqual([first!.id, first!.id, first!.id])
      expect(await scene.under.count('messages')).toBe(1)
    })
  })
}
