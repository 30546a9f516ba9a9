import type { OutboxContract } from './scene.ts'
import { message, payloads } from './scene.ts'

/** Registering topics, and opening. */
export function describeTopics({ describe, test, expect, open }: OutboxContract): void {
  describe('topics', () => {
    test('each topic has consecutive partitions of its own', async () => {
      await using scene = await open()
      const wanted = [
        { name: 'orders', partitions: 4 },
        { name: 'mails', partitions: 2 },
      ]

      const [orders, mails] = await scene.outbox.topics(wanted)

      expect([orders, mails]).toMatchObject(wanted)
      const numbers = [orders!, mails!].flatMap(({ first, partitions }) =>
        Array.from({ length: partitions }, (_, i) => first + i),
      )
      expect(new Set(numbers).size).toBe(6)
      expect(orders!.topic === mails!.topic).toBe(false)
      expect(await scene.under.count('topics')).toBe(2)
      expect(await scene.under.count('partitions')).toBe(6)
    })

    test('one that is known is answered as it is, also with another number of partitions', async () => {
      await using scene = await open()
      const first = await scene.topic('orders', 4)

      const again = await scene.topic('orders', 4)
      const other = await scene.topic('orders', 2)

      expect([again, other]).toEqual([first, first])
      expect(await scene.under.count('partitions')).toBe(4)
    })

    test('a name that is given twice is one topic', async () => {
      await using scene = await open()
      const name = { name: 'orders', partitions: 2 }

      const [one, two] = await scene.outbox.topics([name, name])

      expect(two).toEqual(one)
      expect(await scene.outbox.topics([])).toEqual([])
      expect(await scene.under.count('partitions')).toBe(2)
    })

    test('names differ by every character', async () => {
      await using scene = await open()
      const names = ['orders', 'Orders', 'orders ', 'órders', "o'rders"]

      const rows = await scene.outbox.topics(names.map((name) => ({ name, partitions: 1 })))

      expect(rows.map(({ name }) => name)).toEqual(names)
      expect(new Set(rows.map(({ topic }) => topic)).size).toBe(names.length)
    })

    test('two concurrent registrations get the same rows', async () => {
      await using scene = await open()
      const other = await scene.under.another()
      const wanted = Array.from({ length: 8 }, (_, i) => ({ name: `topic-${i}`, partitions: 3 }))

      const [a, b] = await Promise.all([
        scene.outbox.topics(wanted),
        other.outbox.topics(wanted.toReversed()),
      ])

      expect(b.toReversed()).toEqual(a)
      expect(new Set(a.map(({ first }) => first)).size).toBe(wanted.length)
      expect(await scene.under.count('partitions')).toBe(24)
    })

    test('all of them can be listed, whichever process registered them', async () => {
      await using scene = await open()
      const other = await scene.under.another()
      const [orders] = await other.outbox.topics([{ name: 'orders', partitions: 2 }])
      const mails = await scene.topic('mails', 1)

      const rows = await scene.outbox.allTopics()

      expect(rows.toSorted((a, b) => a.topic - b.topic)).toEqual([orders, mails])
    })

    test('one that a transaction registers is gone when it is rolled back', async () => {
      await using scene = await open()
      const { tx, rollback } = await scene.under.openTransaction()
      const inside = scene.outbox.within(tx, { notify: false })
      const rows = await inside.topics?.([{ name: 'orders', partitions: 4 }])
      await rollback()

      // Not every store registers topics there.
      expect(rows?.[0]?.partitions ?? 4).toBe(4)
      expect(await scene.outbox.allTopics()).toEqual([])
      expect(await scene.under.count('partitions')).toBe(0)
      expect(await scene.topic('orders', 2)).toMatchObject({ partitions: 2 })
    })

    test('opening again is harmless', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))

      await scene.outbox.open()
      const again = await scene.under.openOutbox('outbox')
      await again.open()

      expect(await again.topics([{ name: 'orders', partitions: 1 }])).toEqual([topic])
      const courier = await scene.runtime()
      expect(payloads((await courier.claim(topic.first)).messages)).toEqual(['"hello"'])
    })
  })
}
