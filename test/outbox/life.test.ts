import { expect, test } from 'vitest'
import { CancelledError } from '../../src/index.ts'
import { outbox, topic } from '../../src/outbox/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

describeOutbox('the life of an outbox', (place) => {
  test('a topic gets its partitions at its first use [registration_creates_partition_and_processor_rows] [vacuum_counter_row_created_on_register_queue]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(4)
    box.handle(numbers, async () => {})
    await box.start()

    const stats = await box.stats()

    expect(stats).toEqual(
      [0, 1, 2, 3].map((partition) => ({
        topic: numbers.name,
        partition,
        depth: 0,
        oldestMs: 0,
        lag: 0,
      })),
    )
  })

  test('registering a topic again changes nothing, also at the same time [registration_is_idempotent]', async () => {
    const numbers = place.topic<number>(4)
    const boxes = upTo(4).map(() => place.outbox())
    for (const box of boxes) box.handle(numbers, async () => {})

    await Promise.all(boxes.map((box) => box.start()))

    const rows = await place.sql(
      `select p.partition from outbox_partitions as p join outbox_topics as t on t.topic = p.topic
       where t.name = ?`,
      numbers.name,
    )
    expect(rows).toHaveLength(4)
  })

  test('a topic with another number of partitions is refused, where it is used [registration_rejects_mismatched_partition_count]', async () => {
    const four = place.topic<number>(4)
    const two = topic<number>(four.name, { partitions: 2 })
    await place.send(place.outbox(), four, { payload: 1 })
    const message =
      `topic "${four.name}" has 4 partitions in the database, and 2 in this process: the number cannot ` +
      `be changed; use topic('${four.name}', { partitions: 4 }), or another topic`

    const consumer = place.outbox()
    consumer.handle(two, async () => {})
    await expect(consumer.start()).rejects.toThrow(new RangeError(message))
    await expect(place.send(place.outbox(), two, { payload: 1 })).rejects.toThrow(
      new RangeError(message),
    )

    const one = place.topic<number>()
    await place.send(place.outbox(), one, { payload: 1 })
    const other = topic<number>(one.name, { partitions: 2 })
    await expect(place.send(place.outbox(), other, { payload: 1 })).rejects.toThrow(
      `topic "${one.name}" has 1 partition in the database, and 2 in this process`,
    )
  })

  test('topics have partitions of their own [registration_multiple_queues_distinct_ids] [registration_partition_to_queue_reverse_lookup]', async () => {
    const box = place.outbox()
    const [a, b] = [place.topic<number>(3), place.topic<number>(3)]
    for (const one of [a, b]) box.handle(one, async (_, ctx) => ctx.reject('no'))
    await place.send(box, a, { payload: 1, partition: 2 })
    await place.send(box, b, { payload: 2, partition: 2 })
    await box.drain()

    const letters = await Promise.all(
      [a, b].map(({ name }) => box.deadLetters.list({ topic: name, partition: 2 })),
    )
    expect(letters.map((page) => page.items.map(({ message }) => message.topic))).toEqual([
      [a.name],
      [b.name],
    ])
  })

  test('topics of all sizes work [builder_partitions_of_all_valid_values] [registration_zero_partitions_rejected]', async () => {
    const box = place.outbox()
    for (const partitions of [1, 2, 7, 64]) {
      const numbers = place.topic<number>(partitions)
      await place.send(box, numbers, { payload: 1, partition: partitions - 1 })
    }

    expect(() => place.topic(0)).toThrow(RangeError)
  })

  test('an outbox starts and stops without messages [builder_start_stop_clean]', async () => {
    const box = place.outbox()
    const before = box.health().state
    await box.start()
    const during = box.health()
    await box.stop()

    expect([before, during.state, box.health().state]).toEqual(['new', 'running', 'stopped'])
    expect(during.workers.map(({ name }) => name)).toContain('outbox ticks')
    expect(place.log.at('error')).toEqual([])
    expect(place.log.at('warn')).toEqual([])
  })

  test('without handlers it can be started, and messages wait [builder_no_queues_starts_but_enqueue_fails]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    await box.start()

    await place.send(box, numbers, { payload: 1 })

    const stat = await eventually(async () =>
      (await box.stats()).find(({ topic: name }) => name === numbers.name),
    )
    expect(stat.depth).toBe(1)
  })

  test('starting twice is starting once, and both wait for it', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)

    await Promise.all([box.start(), box.start()])
    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    expect(seen).toHaveLength(1)
  })

  test('handlers are added before the start, one for each topic', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async () => {})
    expect(() => box.handleBatch(numbers, async () => {})).toThrow(
      new Error(`handleBatch: topic "${numbers.name}" has a handler already`),
    )
    await box.start()

    const late = place.topic<number>()
    expect(() => box.handle(late, async () => {})).toThrow(
      new Error(
        `handle: topic "${late.name}": the outbox has started; add handlers before start()`,
      ),
    )
  })

  test('after a stop it cannot be started again', async () => {
    const box = place.outbox()
    await box.start()
    await box.stop()

    await expect(box.start()).rejects.toThrow(
      'outbox: start() was called after stop(); create another one',
    )
  })

  test('a stop waits for the message that is handled, and nothing is handled after it [graceful_shutdown_completes_current_batch]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const begun = deferred()
    const finish = deferred()
    const ended: number[] = []
    box.handle(
      numbers,
      async ({ payload }) => {
        begun.resolve()
        await finish.promise
        ended.push(payload)
      },
      { batchSize: 3 },
    )
    await box.start()
    await place.send(box, numbers, ...items(upTo(6)))
    await begun.promise

    const stopped = box.stop({ within: '10s' })
    finish.resolve()
    await stopped
    const next = place.outbox()
    const later = recorder()
    next.handle(numbers, later.run)
    await next.drain()

    expect(ended).toEqual([1])
    expect(later.payloads()).toEqual([2, 3, 4, 5, 6])
    expect(later.seen[0]!.attempt).toBe(1)
  })

  test('a stop ends in time though a handler hangs, and its message is delivered by others [untested_shutdown_while_handler_hangs]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const begun = deferred()
    box.handle(numbers, async () => {
      begun.resolve()
      await new Promise(() => {})
    })
    await box.start()
    await place.send(box, numbers, { payload: 1 })
    await begun.promise

    const beganMs = performance.now()
    await box.stop({ within: 300 })
    const tookMs = performance.now() - beganMs
    const next = place.outbox()
    const { seen, run } = recorder()
    next.handle(numbers, run)
    await next.drain()

    expect(tookMs).toBeLessThan(3_000)
    expect(seen).toHaveLength(1)
  })

  test('the signal of a handler aborts after four fifths of the time of a stop', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const begun = deferred()
    const aborted = deferred<unknown>()
    box.handle(numbers, async (_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason))
      begun.resolve()
      await aborted.promise
    })
    await box.start()
    await place.send(box, numbers, { payload: 1 })
    await begun.promise

    await box.stop({ within: 200 })

    expect(box.health().totals.delivered).toBe(1)
    expect(await aborted.promise).toEqual(new CancelledError('the outbox is stopping'))
  })

  test('after a stop messages can still be enqueued, and dead letters read', async () => {
    const numbers = place.topic<number>()
    const box = place.outbox()
    box.handle(numbers, async () => {})
    await box.start()
    await box.stop()

    await place.send(box, numbers, { payload: 1 })

    expect(await box.deadLetters.count({ topic: numbers.name })).toBe(0)
    expect(await box.stats()).toMatchObject([{ topic: numbers.name, depth: 1 }])
  })

  test('a start that fails can be tried again', async () => {
    const numbers = place.topic<number>(4)
    await place.send(place.outbox(), numbers, { payload: 1 })
    const box = place.outbox()
    const { payloads, run } = recorder()
    box.handle(numbers, run)
    const other = place.outbox()
    other.handle(topic<number>(numbers.name, { partitions: 2 }), async () => {})

    await expect(other.start()).rejects.toThrow('has 4 partitions in the database')
    await expect(other.start()).rejects.toThrow('has 4 partitions in the database')
    await box.drain()

    expect(payloads()).toEqual([1])
  })

  test('a stop while it starts ends both', async () => {
    const box = place.outbox()
    box.handle(place.topic<number>(), async () => {})
    const started = box.start()

    await Promise.all([started, box.stop()])

    expect(box.health().state).toBe('stopped')
  })

  test('closing the client stops the outbox', async () => {
    const client = place.client()
    const box = outbox(client)
    const numbers = place.topic<number>()
    const { run } = recorder()
    box.handle(numbers, run)
    await box.start()

    await client.close()

    expect(box.health().state).toBe('stopped')
    const owners = await place.sql(
      `select p.partition from outbox_partitions as p join outbox_topics as t on t.topic = p.topic
       where t.name = ? and p.owner is not null`,
      numbers.name,
    )
    expect(owners).toEqual([])
  })

  test('leaving an await using block stops it', async () => {
    const client = place.client()
    let state: () => string
    {
      await using box = outbox(client)
      await box.start()
      state = () => box.health().state
    }

    expect(state()).toBe('stopped')
  })

  test('an outbox needs a client', () => {
    expect(() => outbox({} as never)).toThrow(
      new TypeError('outbox: needs a client, from open() or connect(), got an object'),
    )
  })

  test('draining waits for retries, but not for delayed messages', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen } = recorder()
    box.handle(numbers, async (message, ctx) => {
      if (message.attempt < 3) ctx.retry(20)
      seen.push(message)
    })
    await place.send(box, numbers, { payload: 1 }, { payload: 2, delay: '1h' })

    await box.drain()

    expect(seen).toMatchObject([{ payload: 1, attempt: 3 }])
  })

  test('draining ends with a TimeoutError that says how much is left, or by a signal', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async () => {
      throw new Error('never')
    })
    await place.send(box, numbers, ...items([1, 2]))

    await expect(box.drain({ timeout: 50 })).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'drain: 2 messages were not delivered within 50 ms',
    })
    await expect(box.drain({ signal: AbortSignal.timeout(50) })).rejects.toThrow('timeout')
    await expect(box.drain({ signal: 5 as never })).rejects.toThrow(
      new TypeError('drain: signal must be an AbortSignal, got 5'),
    )
    await expect(box.drain({ within: 5 } as never)).rejects.toThrow(
      'drain: unknown option "within"',
    )
  })

  test('draining ends with an error when the outbox is stopped meanwhile', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async () => Promise.reject(new Error('never')), {
      retry: { delay: '1h', maxDelay: '1h' },
    })
    await place.send(box, numbers, { payload: 1 })
    const drained = box.drain().catch((error: unknown) => error)
    await eventually(() => box.health().totals.retried === 1)

    await box.stop()

    expect(String(await drained)).toContain('drain: the outbox was stopped with 1 messages left')
  })

  test('stats say how full each partition is, and what could be delivered now', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(2)
    box.handle(
      numbers,
      async () => {
        throw new Error('no')
      },
      { retry: { delay: '1h', maxDelay: '1h' } },
    )
    await box.start()
    await place.send(
      box,
      numbers,
      { payload: 1, partition: 0 },
      { payload: 2, partition: 0 },
      { payload: 3, partition: 0, delay: '1h' },
    )
    await eventually(() => box.health().totals.retried === 1)

    const [first, second] = await eventually(async () => {
      const stats = await box.stats()
      return stats[0]!.oldestMs > 0 && stats
    })

    expect(first).toMatchObject({ topic: numbers.name, partition: 0, depth: 3, lag: 0 })
    expect(second).toMatchObject({ partition: 1, depth: 0, lag: 0, oldestMs: 0 })
  })

  test('stats count messages without a handler', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    await place.send(box, numbers, ...items(upTo(3)))
    await eventually(async () => (await box.stats()).length > 0)

    const [stat] = await box.stats()

    expect(stat).toMatchObject({ depth: 3, lag: 3 })
  })

  test('unknown options are refused', () => {
    const box = place.outbox()

    expect(() => box.stop({ timeout: 5 } as never)).toThrow('stop: unknown option "timeout"')
    expect(() => place.outbox({ profile: 'fast' as never })).toThrow(
      'outbox: profile must be one of',
    )
    expect(() => place.outbox({ maxPayloadBytes: 0 })).toThrow('outbox: maxPayloadBytes must be')
    expect(() => place.outbox({ dedupeWindow: 'soon' as never })).toThrow('outbox: dedupeWindow')
  })
})
