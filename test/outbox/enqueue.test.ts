import { expect, test } from 'vitest'
import { topic } from '../../src/outbox/index.ts'
import { eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

describeOutbox('enqueueing', (place) => {
  /** How many messages of a topic are stored. */
  const stored = async (name: string): Promise<number> => {
    const [row] = await place.sql<{ n: number | string }>(
      `select count(*) as n from outbox_messages as m
       join outbox_partitions as p on p.partition = m.partition
       join outbox_topics as t on t.topic = p.topic
       where t.name = ?`,
      name,
    )
    return Number(row!.n)
  }

  test('a message is stored once its transaction is committed [enqueue_single_creates_body_and_incoming]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const transaction = await place.begin()

    await box.in(transaction.tx).enqueue(numbers, 1)
    await transaction.commit()

    expect(await stored(numbers.name)).toBe(1)
  })

  test('the answer is the id of the message [enqueue_returns_correct_id]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    const transaction = await place.begin()
    const answer = await box.in(transaction.tx).enqueue(numbers, 1)
    await transaction.commit()

    await box.drain()

    expect(answer).toEqual({ id: seen[0]!.id, duplicate: false })
    expect(Number(answer.id)).toBeGreaterThan(0)
  })

  test('a rollback leaves nothing [enqueue_tx_rollback_leaves_no_rows]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    await place.send(box, numbers, { payload: 1 })
    const transaction = await place.begin()

    await box.in(transaction.tx).enqueueMany(numbers, items([2, 3]))
    await transaction.rollback()

    expect(await stored(numbers.name)).toBe(1)
  })

  test('a topic that was first used in a transaction that is rolled back can be used again', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const transaction = await place.begin()
    await box.in(transaction.tx).enqueue(numbers, 1)
    await transaction.rollback()

    await place.send(box, numbers, { payload: 2 })

    expect(await stored(numbers.name)).toBe(1)
  })

  test('what is enqueued outside of a transaction is refused [enqueue_with_standalone_connection]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    await place.send(box, numbers, { payload: 1 })
    const { tx, rollback } = await place.begin()
    await rollback()

    await expect(box.in(tx).enqueue(numbers, 2)).rejects.toThrow(/transaction/)

    expect(await stored(numbers.name)).toBe(1)
  })

  test('fifty messages are stored by one call, with ids in their order [enqueue_batch_creates_n_items]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const transaction = await place.begin()

    const ids = await box.in(transaction.tx).enqueueMany(numbers, items(upTo(50)))
    await transaction.commit()

    expect(await stored(numbers.name)).toBe(50)
    expect(ids.map(Number)).toEqual(ids.map(Number).toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(50)
  })

  test('messages of one call may go to several partitions [enqueue_batch_mixed_partitions]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(2)
    const { seen, run } = recorder()
    box.handle(numbers, run)

    await place.send(
      box,
      numbers,
      ...[0, 1, 0, 1].map((partition, i) => ({ payload: i, partition })),
    )
    await box.drain()

    const of = (index: number): number[] =>
      seen.filter(({ partition }) => partition === index).map(({ payload }) => payload)
    expect([of(0), of(1)]).toEqual([
      [0, 2],
      [1, 3],
    ])
  })

  test('one refused message rejects the whole batch [enqueue_batch_one_invalid_rejects_entire_batch] [enqueue_oversized_payload_rejected]', async () => {
    const box = place.outbox({ maxPayloadBytes: 100 })
    const texts = place.topic<string>()
    await place.send(box, texts, { payload: 'first' })
    const transaction = await place.begin()

    const refused = box.in(transaction.tx).enqueueMany(texts, items(['a', 'x'.repeat(200), 'b']))
    await expect(refused).rejects.toThrow(
      'enqueueMany: message 2 of 3: the payload has 202 bytes, and at most 100 are allowed',
    )
    await transaction.commit()

    expect(await stored(texts.name)).toBe(1)
  })

  test('no messages need no database [enqueue_empty_batch_returns_empty_vec]', async () => {
    const box = place.outbox()
    const transaction = await place.begin()

    const ids = await box.in(transaction.tx).enqueueMany(place.topic<number>(), [])
    await transaction.commit()

    expect(ids).toEqual([])
  })

  test('a thousand messages are stored by one call [enqueue_batch_over_chunk_size_works]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()

    await place.send(box, numbers, ...items(upTo(1_000)))

    expect(await stored(numbers.name)).toBe(1_000)
  })

  test('a value that is not a topic is refused [enqueue_unregistered_queue_rejected] [resolve_partition_unregistered_queue]', async () => {
    const box = place.outbox()
    const transaction = await place.begin()

    await expect(
      box.in(transaction.tx).enqueue({ name: 'orders', partitions: 1 }, 1),
    ).rejects.toThrow(new TypeError('enqueue: needs a topic, made by topic(), got an object'))
    await transaction.rollback()
  })

  test('a partition that the topic does not have is refused [enqueue_out_of_range_partition_rejected]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(4)
    const transaction = await place.begin()

    await expect(box.in(transaction.tx).enqueue(numbers, 1, { partition: 5 })).rejects.toThrow(
      'enqueue: partition must be below 4',
    )
    await transaction.rollback()
  })

  test('a commit is noticed at once, and a rollback brings nothing [enqueue_transaction_helper_auto_flushes] [enqueue_transaction_helper_no_flush_on_rollback]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, payloads, run } = recorder()
    box.handle(numbers, run)
    await box.start()

    const transaction = await place.begin()
    await box.in(transaction.tx).enqueue(numbers, 1)
    await transaction.rollback()
    const began = performance.now()
    await place.send(box, numbers, { payload: 2 })
    await eventually(() => seen.length > 0)

    // Without a notice it would take ten seconds.
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(payloads()).toEqual([2])
  })

  test('the handler of another process gets it at once', async () => {
    const numbers = place.topic<number>()
    const producer = place.outbox()
    const consumer = place.outbox()
    const { seen, run } = recorder()
    consumer.handle(numbers, run)
    await consumer.start()

    const began = performance.now()
    await place.send(producer, numbers, { payload: 1 })
    await eventually(() => seen.length > 0)

    expect(performance.now() - began).toBeLessThan(3_000)
  })

  test('what is enqueued with the changes of the user is committed with them', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    for (const end of ['rollback', 'commit'] as const) {
      const transaction = await place.begin()
      await box.in(transaction.tx).enqueue(numbers, 1)
      await transaction.run(`insert into ${place.entries} values ('${name} ${end}', '${name}')`)
      await transaction[end]()
    }

    expect(await place.readEntries(name)).toEqual([`${name} commit`])
    expect(await stored(name)).toBe(1)
  })

  test('calls that are not awaited keep their order', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { payloads, run } = recorder()
    box.handle(numbers, run)
    const transaction = await place.begin()
    const inside = box.in(transaction.tx)

    await Promise.all(upTo(20).map((n) => inside.enqueue(numbers, n)))
    await transaction.commit()
    await box.drain()

    expect(payloads()).toEqual(upTo(20))
  })

  test('messages without a key use all partitions, also of topics that are used in turn', async () => {
    const box = place.outbox()
    const [a, b] = [place.topic<number>(4), place.topic<number>(4)]

    for (const n of upTo(4)) {
      const transaction = await place.begin()
      const inside = box.in(transaction.tx)
      await Promise.all([inside.enqueue(a, n), inside.enqueue(b, n)])
      await transaction.commit()
    }

    const used = (await box.stats()).filter(({ depth }) => depth > 0)
    expect(used).toHaveLength(8)
  })

  test('a payload that is changed after the call is stored as it was', async () => {
    const box = place.outbox()
    const rows = place.topic<{ n: number }>()
    const { payloads, run } = recorder<{ n: number }>()
    box.handle(rows, run)
    const transaction = await place.begin()
    const inside = box.in(transaction.tx)
    const row = { n: 0 }
    const calls: Promise<unknown>[] = []

    for (const n of upTo(4)) {
      row.n = n
      calls.push(
        n % 2 === 0 ? inside.enqueue(rows, row) : inside.enqueueMany(rows, [{ payload: row }]),
      )
    }
    row.n = 9
    await Promise.all(calls)
    await transaction.commit()
    await box.drain()

    expect(payloads()).toEqual(upTo(4).map((n) => ({ n })))
  })

  test('a call that is refused rejects its own promise, and the calls around it are stored', async () => {
    const box = place.outbox({ maxPayloadBytes: 20 })
    const texts = place.topic<string>()
    const { payloads, run } = recorder<string>()
    box.handle(texts, run)
    const transaction = await place.begin()
    const inside = box.in(transaction.tx)

    const ends = await Promise.allSettled([
      inside.enqueue(texts, 'a'),
      inside.enqueue(texts, 'x'.repeat(50)),
      inside.enqueueMany(texts, 'none' as never),
      inside.enqueue(texts, 'b'),
    ])
    await transaction.commit()
    await box.drain()

    expect(ends.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(payloads()).toEqual(['a', 'b'])
  })

  test('a refused call does not spoil the transaction, nor the next call', async () => {
    const box = place.outbox({ maxPayloadBytes: 20 })
    const texts = place.topic<string>()
    const transaction = await place.begin()
    const inside = box.in(transaction.tx)

    await expect(inside.enqueue(texts, 'x'.repeat(50))).rejects.toThrow(RangeError)
    await inside.enqueue(texts, 'short')
    await transaction.commit()

    expect(await stored(texts.name)).toBe(1)
  })

  test('headers, the key and the time travel with the message', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(8)
    const { seen, run } = recorder()
    box.handle(numbers, run)
    const headers = { traceparent: '00-abc', 'x-ü': 'a\n"b"' }
    const began = Date.now()

    await place.send(box, numbers, { payload: 1, key: 'ключ 🙂', headers }, { payload: 2 })
    await box.drain()

    const [first, second] = seen.toSorted((a, b) => a.payload - b.payload)
    expect(first).toMatchObject({
      topic: numbers.name,
      key: 'ключ 🙂',
      headers,
      attempt: 1,
      seq: 1,
    })
    expect(second).toMatchObject({ key: '', headers: {}, attempt: 1 })
    expect(Math.abs(first!.enqueuedAt.getTime() - began)).toBeLessThan(10_000)
  })

  test('payloads of every kind arrive as they were', async () => {
    const box = place.outbox()
    const values = place.topic<unknown>()
    const { payloads, run } = recorder<unknown>()
    box.handle(values, run)
    const sent = [
      null,
      '',
      '\u0001\u0002 tab\t',
      'a\0b',
      12.5,
      -0,
      10n ** 30n,
      new Date(5),
      new Uint8Array([0, 255, 7]),
      new Map([['a', { b: [1, undefined] }]]),
      new Set([1]),
      { nested: { list: [1, 2, { deep: true }] } },
    ]

    await place.send(box, values, ...items(sent))
    await box.drain()

    expect(payloads()).toEqual(sent)
  })

  test('a schema checks what is enqueued, and its output is what handlers get', async () => {
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'string'
            ? { value: { text: value } }
            : { issues: [{ message: 'must be a string' }] },
        types: undefined as { input: string; output: { text: string } } | undefined,
      },
    }
    const box = place.outbox()
    const texts = topic<{ text: string }, string>(place.topic().name, { schema, partitions: 1 })
    const { payloads, run } = recorder<{ text: string }>()
    box.handle(texts, run)

    await place.send(box, texts, { payload: 'hello' })
    await box.drain()

    expect(payloads()).toEqual([{ text: 'hello' }])
    await expect(place.send(box, texts, { payload: 7 as never })).rejects.toThrow(
      'enqueueMany: the payload is not valid: $: must be a string',
    )
  })

  test('a second message with the same dedupe key is not stored, whichever process enqueues it', async () => {
    const numbers = place.topic<number>()
    const box = place.outbox()
    const other = place.outbox()
    const { payloads, run } = recorder()
    box.handle(numbers, run)
    const one = async (by: typeof box, payload: number) => {
      const transaction = await place.begin()
      const answer = await by.in(transaction.tx).enqueue(numbers, payload, { dedupeKey: 'same' })
      await transaction.commit()
      return answer
    }

    const first = await one(box, 1)
    const second = await one(other, 2)
    await box.drain()
    const third = await one(box, 3)
    await box.drain()

    expect(payloads()).toEqual([1])
    expect([second, third]).toEqual([
      { id: first.id, duplicate: true },
      { id: first.id, duplicate: true },
    ])
  })

  test('a dedupe key counts within its topic, and not after a rollback', async () => {
    const box = place.outbox()
    const [a, b] = [place.topic<number>(), place.topic<number>()]
    const transaction = await place.begin()
    await box.in(transaction.tx).enqueue(a, 1, { dedupeKey: 'k' })
    await transaction.rollback()
    await place.send(box, a, { payload: 2, dedupeKey: 'k' })

    await place.send(box, b, { payload: 3, dedupeKey: 'k' })

    expect([await stored(a.name), await stored(b.name)]).toEqual([1, 1])
  })

  test('duplicates within one call are found', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const transaction = await place.begin()

    const ids = await box
      .in(transaction.tx)
      .enqueueMany(numbers, [
        { payload: 1, dedupeKey: 'a' },
        { payload: 2 },
        { payload: 3, dedupeKey: 'a' },
      ])
    await transaction.commit()

    expect(await stored(numbers.name)).toBe(2)
    expect([ids[2] === ids[0], ids[1] === ids[0]]).toEqual([true, false])
  })

  test('a delayed message comes when it is due, and others pass it', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, payloads, run } = recorder()
    box.handle(numbers, run)
    await box.start()

    await place.send(box, numbers, { payload: 1, delay: 300 }, { payload: 2 })
    await eventually(() => seen.length > 0)
    const early = payloads()
    await box.drain()
    await eventually(() => seen.length === 2)

    expect([early, payloads()]).toEqual([[2], [2, 1]])
    expect(Date.now() - seen[1]!.enqueuedAt.getTime()).toBeGreaterThanOrEqual(300)
  })

  test('delayed messages of one time keep their order', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, payloads, run } = recorder()
    box.handle(numbers, run)
    await box.start()

    await place.send(box, numbers, ...items(upTo(10), { delay: 100 }))
    await eventually(() => seen.length === 10)

    expect(payloads()).toEqual(upTo(10))
    expect(seen.map(({ seq }) => seq)).toEqual(upTo(10))
  })

  test('an expired message is dropped, and its number is used up', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, { payload: 1, ttl: 1 }, { payload: 2, ttl: '1h' })
    const { enqueuedAt } = { enqueuedAt: Date.now() }
    await eventually(() => Date.now() > enqueuedAt + 5)

    await box.drain()

    expect(seen).toMatchObject([{ payload: 2, seq: 2 }])
    expect(box.health().totals).toMatchObject({ delivered: 1, expired: 1, dead: 0 })
  })

  test('with notify: false a message is still found, by the next poll', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const transaction = await place.begin()
    await box.in(transaction.tx, { notify: false }).enqueue(numbers, 1)
    await transaction.commit()
    const { payloads, run } = recorder()
    box.handle(numbers, run)

    await box.drain()

    expect(payloads()).toEqual([1])
  })

  test('unknown options are refused', async () => {
    const box = place.outbox()
    const { tx, rollback } = await place.begin()

    expect(() => box.in(tx, { notifies: false } as never)).toThrow('in: unknown option "notifies"')
    expect(() => place.outbox({ prefixes: 'a' } as never)).toThrow(
      'outbox: unknown option "prefixes"',
    )
    await expect(
      box.in(tx).enqueue(place.topic<number>(), 1, { keys: 'a' } as never),
    ).rejects.toThrow('enqueue: unknown option "keys"')
    await expect(box.in(tx).enqueue(place.topic(), 1, [] as never)).rejects.toThrow(
      'enqueue: options must be a plain object, got an array of 0',
    )
    await rollback()
  })

  test('a value that is not a transaction is refused', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()

    for (const tx of [undefined, {}, 'tx']) {
      await expect((async () => box.in(tx as never).enqueue(numbers, 1))()).rejects.toThrow(
        TypeError,
      )
    }
  })

  test('several enqueue in one transaction at the same time, each with an object of its own', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const other = place.topic<number>()
    const { tx, commit } = await place.begin()

    const added = await Promise.all([
      box.in(tx).enqueue(numbers, 1),
      box.in(tx).enqueue(other, 2),
      box.in(tx).enqueue(numbers, 3),
    ])
    await commit()

    expect(new Set(added.map(({ id }) => id)).size).toBe(3)
    expect(await box.stats({ all: true })).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ topic: numbers.name, depth: 2 }),
        expect.objectContaining({ topic: other.name, depth: 1 }),
      ]),
    )
  })
})

describeOutbox(
  'a very long list',
  (place) => {
    test('is stored and noticed like a short one, behind others in its transaction', async () => {
      const box = place.outbox()
      const numbers = place.topic<number>()
      box.handle(numbers, recorder().run)
      await box.start()
      const transaction = await place.begin()
      const inside = box.in(transaction.tx)
      await inside.enqueue(numbers, 0, { delay: '1h' })

      // More than a call has room for as arguments.
      const ids = await inside.enqueueMany(numbers, items(upTo(140_000), { delay: '1h' }))
      await transaction.commit()
      await place.send(box, numbers, { payload: 1 })
      await box.drain()

      const [stats] = await box.stats()
      expect(ids).toHaveLength(140_000)
      expect(stats).toMatchObject({ depth: 140_001, lag: 0 })
      expect(place.log.at('error')).toEqual([])
    })
  },
  ['sqlite'],
)
