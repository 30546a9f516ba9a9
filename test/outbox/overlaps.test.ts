// Transactions that overlap, which only PostgreSQL has.

import { expect, test } from 'vitest'
import { eventually } from '../support/engine.ts'
import { randomFrom } from '../e2e/random.ts'
import { describeOutbox, items, recorder } from './support.ts'

describeOutbox(
  'transactions that overlap',
  (place) => {
    test('nothing is delivered before what was enqueued first by an open transaction; other partitions go on [untested_commit_order]', async () => {
      const box = place.outbox()
      const texts = place.topic<string>(2)
      const { seen, payloads, run } = recorder<string>()
      box.handle(texts, run)
      await box.start()
      const a = await place.begin()
      await box.in(a.tx).enqueue(texts, 'a', { partition: 0 })
      await place.send(box, texts, { payload: 'b', partition: 0 })
      await place.send(box, texts, { payload: 'c', partition: 1 })
      await eventually(() => seen.length > 0)
      // However often it looks.
      for (let i = 0; i < 20; i++) await box.stats()
      const before = payloads()

      await a.commit()
      await box.drain()

      expect(before).toEqual(['c'])
      expect(payloads()).toEqual(['c', 'a', 'b'])
      expect(seen.map(({ partition, seq }) => [partition, seq])).toEqual([
        [1, 1],
        [0, 1],
        [0, 2],
      ])
    })

    test('a rollback of the transaction that was waited for lets the others through, soon', async () => {
      const box = place.outbox()
      const texts = place.topic<string>()
      const { seen, run } = recorder<string>()
      box.handle(texts, run)
      await box.start()
      const a = await place.begin()
      await box.in(a.tx).enqueue(texts, 'a')
      await place.send(box, texts, { payload: 'b' })
      for (let i = 0; i < 10; i++) await box.stats()

      const beganMs = performance.now()
      await a.rollback()
      await eventually(() => seen.length > 0)

      expect(performance.now() - beganMs).toBeLessThan(3_000)
      expect(seen).toMatchObject([{ payload: 'b', seq: 1 }])
    })

    test('a transaction that has written elsewhere and enqueued nothing holds nothing up', async () => {
      const box = place.outbox()
      const texts = place.topic<string>()
      const { payloads, run } = recorder<string>()
      box.handle(texts, run)
      const idle = await place.begin()
      await idle.run(`insert into ${place.entries} values ('${texts.name}', 'idle')`)

      await place.send(box, texts, { payload: 'a' })
      await box.drain()
      await idle.rollback()

      expect(payloads()).toEqual(['a'])
    })

    test.each(['repeatable read', 'serializable'])('callers may use %s', async (level) => {
      const box = place.outbox()
      const texts = place.topic<string>()
      const { seen, payloads, run } = recorder<string>()
      box.handle(texts, run)
      await box.start()
      const old = await place.begin()
      await old.run(`set transaction isolation level ${level}`)
      await old.run('select 1')
      await place.send(box, texts, { payload: 'new' })
      await eventually(() => seen.length === 1)

      // By a snapshot from before the first message, and before the handler had the partition.
      await box.in(old.tx).enqueue(texts, 'old', { dedupeKey: level })
      await old.commit()
      const beganMs = performance.now()
      await eventually(() => seen.length === 2)

      expect(performance.now() - beganMs).toBeLessThan(3_000)
      expect(payloads()).toEqual(['new', 'old'])
    })

    test('messages enqueued after a savepoint that is rolled back are never delivered', async () => {
      const box = place.outbox()
      const texts = place.topic<string>()
      const { seen, run } = recorder<string>()
      box.handle(texts, run)
      const { tx, run: sql, commit } = await place.begin()
      const inside = box.in(tx)
      await inside.enqueue(texts, 'a')
      await sql('savepoint s')
      await inside.enqueueMany(texts, items(['x', 'y']))
      await sql('rollback to savepoint s')
      await inside.enqueue(texts, 'b')
      await commit()

      await box.drain()

      expect(seen.map(({ payload, seq }) => [payload, seq])).toEqual([
        ['a', 1],
        ['b', 2],
      ])
    })

    test('lists and counts of dead letters wait for no lock [list_query_never_locks]', async () => {
      const box = place.outbox()
      const texts = place.topic<string>()
      box.handle(texts, async (_, ctx) => ctx.reject('no'))
      await place.send(box, texts, ...items(['a', 'b']))
      await box.drain()
      const [{ schema }] = (await place.sql('select current_schema() as schema')) as [
        { schema: string },
      ]
      const other = await place.begin()
      await other.run(`select 1 from "${schema}".outbox_dead_letters for update`)

      const { items: letters } = await box.deadLetters.list({ topic: texts.name })
      const count = await box.deadLetters.count({ topic: texts.name })
      const taken = await box.deadLetters.replay({ topic: texts.name })
      await other.rollback()

      expect([letters.length, count, taken.length]).toEqual([2, 2, 0])
    })

    test('however transactions overlap, each partition comes in the order of its ids, without gaps', async () => {
      const seed = Math.floor(Math.random() * 1e6)
      const random = randomFrom(seed)
      const consumers = [place.outbox(), place.outbox()]
      const producer = place.outbox()
      const numbers = place.topic<number>(3)
      const { seen, run } = recorder()
      for (const box of consumers) {
        box.handle(numbers, run, { batchSize: 4 })
        await box.start()
      }
      const committed = new Set<string>()
      const one = async (): Promise<void> => {
        for (let i = 0; i < 8; i++) {
          const transaction = await place.begin()
          const ids: string[] = []
          for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
            const partition = Math.floor(random() * 3)
            const { id } = await producer.in(transaction.tx).enqueue(numbers, i, { partition })
            ids.push(id)
            if (random() < 0.3) await producer.stats()
          }
          if (random() < 0.2) {
            await transaction.rollback()
          } else {
            await transaction.commit()
            for (const id of ids) committed.add(id)
          }
        }
      }

      await Promise.all(Array.from({ length: 6 }, one))
      await eventually(() => seen.length >= committed.size)
      await consumers[0]!.drain()

      expect(new Set(seen.map(({ id }) => id)), `seed ${seed}`).toEqual(committed)
      for (const index of [0, 1, 2]) {
        const of = seen.filter(({ partition }) => partition === index)
        const ids = of.map(({ id }) => Number(id))
        expect(ids, `seed ${seed}`).toEqual(ids.toSorted((a, b) => a - b))
        expect(of.map(({ seq }) => seq)).toEqual(of.map((_, i) => i + 1))
      }
    })
  },
  ['postgres'],
)
