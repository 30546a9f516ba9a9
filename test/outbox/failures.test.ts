import { expect, test } from 'vitest'
import { failure } from '../../src/index.ts'
import type { Message } from '../../src/outbox/index.ts'
import { eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

const SOON = { retry: { delay: 5, maxDelay: 10 } }

describeOutbox('failing handlers', (place) => {
  test('a message that failed comes again, with the attempt counted [decoupled_retry_preserves_cursor_and_releases_lease] [e2e_retry_then_recovery] [retry_does_not_double_increment_attempts] [on_error_increments_failures]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const attempts: number[] = []
    box.handle(
      numbers,
      async ({ attempt }) => {
        attempts.push(attempt)
        if (attempt < 3) throw new Error('not yet')
      },
      SOON,
    )

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    expect(attempts).toEqual([1, 2, 3])
    expect(box.health().totals).toMatchObject({ delivered: 1, retried: 2, dead: 0 })
  })

  test.each<[string, () => unknown, RegExp]>([
    [
      'whose message is a symbol',
      () => Object.assign(new Error('x'), { message: Symbol('odd') }),
      /Symbol\(odd\)/,
    ],
    [
      'whose name throws',
      () =>
        Object.defineProperty(new Error('x'), 'name', {
          get() {
            throw new Error('no name')
          },
        }),
      /./,
    ],
    [
      'that is a proxy that throws',
      () =>
        new Proxy(new Error('x'), {
          get() {
            throw new Error('no')
          },
          getPrototypeOf() {
            throw new Error('no')
          },
        }),
      /an object that cannot be read/,
    ],
    ['that is nothing', () => undefined, /^undefined$/],
  ])('an error %s is counted like any other', async (_, thrown, reason) => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async () => Promise.reject(thrown()), { ...SOON, maxAttempts: 2 })

    await place.send(box, numbers, { payload: 1 })
    await box.drain({ timeout: 5_000 })

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters).toMatchObject([{ message: { attempt: 2 } }])
    expect(letters[0]!.reason).toMatch(reason)
  })

  test('a long reason of a rejection is shortened', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async (_, ctx) => ctx.reject('x'.repeat(5_000)))

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters[0]!.reason).toBe(`${'x'.repeat(2_000)}…`)
  })

  test('the messages behind it wait, and those before it stay delivered [decoupled_retry_does_not_advance_cursor] [decoupled_success_advances_cursor_and_releases_lease]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const calls: string[] = []
    box.handle(
      numbers,
      async ({ payload, attempt }) => {
        calls.push(`${payload}/${attempt}`)
        if (payload === 2 && attempt === 1) throw new Error('once')
      },
      SOON,
    )

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    expect(calls).toEqual(['1/1', '2/1', '2/2', '3/1'])
  })

  test('a success sets nothing back but its own message: each has its own attempts', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const calls: string[] = []
    box.handle(
      numbers,
      async ({ payload, attempt }) => {
        calls.push(`${payload}/${attempt}`)
        if (attempt === 1) throw new Error('once each')
      },
      SOON,
    )

    await place.send(box, numbers, ...items([1, 2]))
    await box.drain()

    expect(calls).toEqual(['1/1', '1/2', '2/1', '2/2'])
  })

  test('after its last attempt it becomes a dead letter, and the partition continues [decoupled_reject_creates_dead_letter_and_releases_lease]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { payloads, seen } = recorder()
    box.handle(
      numbers,
      async (message) => {
        if (message.payload === 1) throw new TypeError('always')
        seen.push(message)
      },
      { ...SOON, maxAttempts: 3 },
    )

    await place.send(box, numbers, ...items([1, 2]))
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(payloads()).toEqual([2])
    expect(letters).toMatchObject([
      {
        status: 'pending',
        reason: 'TypeError: always',
        message: { payload: 1, attempt: 3, seq: 1 },
      },
    ])
  })

  test('ctx.reject makes a dead letter at once, and the others are delivered [decoupled_partial_reject_deadletters_only_remaining] [leased_reject_at_first_deadletters_only_poison] [batch_size_one_partial_failure_is_noop] [decoupled_each_message_adapter_processes_individually]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { payloads, seen } = recorder()
    box.handle(numbers, async (message, ctx) => {
      if (message.payload % 3 === 0) ctx.reject('divisible by three')
      seen.push(message)
    })

    await place.send(box, numbers, ...items([3, 1, 2, 6, 4]))
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(payloads()).toEqual([1, 2, 4])
    expect(letters.map(({ message, reason }) => [message.seq, reason]).toReversed()).toEqual([
      [1, 'divisible by three'],
      [4, 'divisible by three'],
    ])
  })

  test('a failure that cannot be retried makes a dead letter at once [untested_handler_panic]', async () => {
    const Gone = failure('OutboxGone', { retryable: false })
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async () => {
      throw new Gone('no such account')
    })

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters).toMatchObject([{ reason: 'OutboxGone: no such account' }])
  })

  test('a batch that fails with what cannot be retried makes a dead letter of the message to blame alone', async () => {
    const Gone = failure('OutboxGone', { retryable: false })
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    const sizes: number[] = []
    box.handleBatch(
      numbers,
      async (messages) => {
        sizes.push(messages.length)
        if (messages.some(({ payload }) => payload === 3)) throw new Gone('no such account')
        for (const message of messages) await run(message)
      },
      // Its retries need not wait.
      { retry: { delay: '1h', maxDelay: '2h' } },
    )

    await place.send(box, numbers, ...items(upTo(5)))
    await box.drain({ timeout: 5_000 })

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters).toMatchObject([
      { reason: 'OutboxGone: no such account', message: { payload: 3 } },
    ])
    expect(seen.map(({ payload }) => payload)).toEqual([1, 2, 4, 5])
    expect(sizes.slice(0, 4)).toEqual([5, 1, 2, 1])
  })

  test('each message of a batch waits as long as ctx.retry asked for, and none is handed out before it', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const calls: string[] = []
    const atMs = new Map<string, number>()
    box.handleBatch(
      numbers,
      async (messages, ctx) => {
        for (const message of messages) {
          const { payload, attempt } = message
          calls.push(`${payload}/${attempt}`)
          atMs.set(`${payload}/${attempt}`, performance.now())
          if (payload === 1 && attempt < 5) ctx.retry(message)
          else if (payload === 2 && attempt === 1) ctx.retry(message, 500)
          else ctx.ack(message)
        }
      },
      { ...SOON, maxAttempts: 5 },
    )

    await box.start()
    await place.send(box, numbers, ...items(upTo(3)))
    await eventually(() => calls.includes('1/5'))
    await place.send(box, numbers, { payload: 4 })
    await box.drain()

    expect(calls).toEqual(['1/1', '2/1', '3/1', '1/2', '1/3', '1/4', '1/5', '2/2', '4/1'])
    expect(atMs.get('2/2')! - atMs.get('2/1')!).toBeGreaterThan(400)
    expect(box.health().totals).toMatchObject({ delivered: 4, retried: 5, dead: 0 })
  })

  test('ctx.retry with a time waits that long, whatever the backoff says', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const times: number[] = []
    box.handle(
      numbers,
      async ({ attempt }, ctx) => {
        times.push(performance.now())
        if (attempt === 1) ctx.retry(200)
      },
      { retry: { delay: '1h', maxDelay: '2h' } },
    )

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(100)
  })

  test('a poisonous message is isolated; the others of its batch are delivered [adaptive_batch_isolates_poison_message]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const batches: number[][] = []
    box.handleBatch(
      numbers,
      async (messages) => {
        batches.push(messages.map(({ payload }) => payload))
        if (messages.some(({ payload }) => payload === 2)) throw new Error('poison')
      },
      { ...SOON, maxAttempts: 2, batchSize: 4 },
    )

    await place.send(box, numbers, ...items(upTo(4)))
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters.map(({ message }) => message.payload)).toEqual([2])
    expect(batches).toContainEqual([2])
    expect(box.health().totals).toMatchObject({ delivered: 3, dead: 1 })
  })

  test('a batch handler that rejects each message makes dead letters of all [decoupled_batch_handler_reject_deadletters_all]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handleBatch(numbers, async (messages, ctx) => {
      for (const message of messages) ctx.reject(message, 'all of you')
    })

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    expect(await box.deadLetters.count({ topic: numbers.name })).toBe(3)
  })

  test('acking twice, or a message of another batch, is refused and loses nothing [untested_over_acking]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const errors: string[] = []
    let foreign: Message<number> | undefined
    box.handleBatch(
      numbers,
      async (messages, ctx) => {
        for (const message of messages) ctx.ack(message)
        for (const wrong of [messages[0]!, ...(foreign ? [foreign] : [])]) {
          try {
            ctx.ack(wrong)
          } catch (error) {
            errors.push((error as Error).message)
          }
        }
        foreign = messages[0]
      },
      { batchSize: 2 },
    )

    await place.send(box, numbers, ...items(upTo(4)))
    await box.drain()

    expect(errors).toEqual([
      expect.stringMatching(/^ctx.ack: message \d+ has already been decided: done$/),
      expect.stringMatching(/^ctx.ack: message \d+ has already been decided: done$/),
      'ctx.ack: needs a message of this batch, got an object',
    ])
    expect(box.health().totals).toMatchObject({ delivered: 4, retried: 0 })
  })

  test('messages that a batch handler says nothing about are tried again; the acked ones are not', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const batches: number[][] = []
    box.handleBatch(
      numbers,
      async (messages, ctx) => {
        batches.push(messages.map(({ payload }) => payload))
        for (const message of messages) {
          if (message.payload !== 2 || message.attempt > 1) ctx.ack(message)
        }
      },
      SOON,
    )

    await place.send(box, numbers, ...items(upTo(4)))
    await box.drain()

    expect(batches).toEqual([[1, 2, 3, 4], [2]])
  })

  test('acked messages behind one that is retried are not delivered again, also by another process', async () => {
    const numbers = place.topic<number>()
    const first = place.outbox()
    const seen: number[] = []
    first.handleBatch(
      numbers,
      async (messages, ctx) => {
        for (const message of messages) {
          seen.push(message.payload)
          // Later than the first one stops.
          if (message.payload === 1) ctx.retry(message, 1_500)
          else ctx.ack(message)
        }
      },
      SOON,
    )
    await first.start()
    await place.send(first, numbers, ...items(upTo(3)))
    await eventually(() => seen.length === 3)
    await first.stop()
    const second = place.outbox()
    const later = recorder()
    second.handle(numbers, later.run)

    await second.drain()

    expect(later.seen).toMatchObject([{ payload: 1, seq: 1, attempt: 2 }])
  })

  test('a handler that takes too long sees its signal abort, and its message comes again [untested_handler_timeout]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const reasons: unknown[] = []
    box.handle(
      numbers,
      async ({ attempt }, { signal }) => {
        if (attempt > 1) return
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reasons.push(signal.reason)
        throw new Error('aborted')
      },
      { ...SOON, lease: 50 },
    )

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    expect(reasons).toEqual([
      expect.objectContaining({
        name: 'TimeoutError',
        message: 'the handler took longer than 50 ms',
      }),
    ])
    expect(box.health().totals).toMatchObject({ delivered: 1, retried: 1 })
  })

  test('a handler that hangs forever is abandoned, and the next attempt has another fence', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const calls: [number, bigint][] = []
    box.handle(
      numbers,
      async ({ attempt }, { fence }) => {
        calls.push([attempt, fence])
        if (attempt === 1) await new Promise(() => {})
      },
      { ...SOON, lease: 30 },
    )

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    expect(calls.map(([attempt]) => attempt)).toEqual([1, 2])
    expect(calls[1]![1] > calls[0]![1]).toBe(true)
  })

  test('block: a stuck message keeps its partition waiting, and others go on', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(2)
    const calls: number[] = []
    box.handle(
      numbers,
      async ({ payload }) => {
        calls.push(payload)
        if (payload === 1) throw new Error('stuck')
      },
      { ...SOON, maxAttempts: 2, whenStuck: 'block' },
    )

    await place.send(
      box,
      numbers,
      { payload: 1, partition: 0 },
      { payload: 2, partition: 0 },
      { payload: 3, partition: 1 },
    )
    await box.start()
    await eventually(() => calls.filter((n) => n === 1).length > 4)

    expect(calls).not.toContain(2)
    expect(calls).toContain(3)
    expect(await box.deadLetters.count({ topic: numbers.name })).toBe(0)
    expect(place.log.at('error')).toContain('handler keeps failing; the message is still retried')
  })

  test('skip: only messages with the same key wait for a stuck one, and they keep their order', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const done: number[] = []
    let mayPass = false
    box.handle(
      numbers,
      async ({ payload }) => {
        if (payload === 1 && !mayPass) throw new Error('stuck')
        done.push(payload)
      },
      { ...SOON, whenStuck: 'skip' },
    )
    await box.start()

    await place.send(
      box,
      numbers,
      { payload: 1, key: 'a' },
      { payload: 2, key: 'b' },
      { payload: 3, key: 'a' },
      { payload: 4 },
      { payload: 5, key: 'a' },
    )
    await eventually(() => done.length === 2)
    await place.send(box, numbers, { payload: 6, key: 'a' }, { payload: 7, key: 'b' })
    await eventually(() => done.includes(7))
    const before = [...done]
    mayPass = true
    await box.drain()

    expect(before).toEqual([2, 4, 7])
    expect(done).toEqual([2, 4, 7, 1, 3, 5, 6])
  })

  test('skip: a message that waits apart can become a dead letter, and the next of its key goes on', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, payloads } = recorder()
    box.handle(
      numbers,
      async (message, ctx) => {
        if (message.payload === 1) {
          if (message.attempt < 3) ctx.retry(1)
          ctx.reject('enough')
        }
        seen.push(message)
      },
      { ...SOON, whenStuck: 'skip' },
    )

    await place.send(box, numbers, { payload: 1, key: 'a' }, { payload: 2, key: 'a' })
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(payloads()).toEqual([2])
    expect(letters).toMatchObject([{ message: { payload: 1, attempt: 3 }, reason: 'enough' }])
  })

  test('a payload that cannot be decoded becomes a dead letter, and shows what is stored', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { payloads, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, ...items([1, 2]))
    await place.sql(
      `update outbox_messages set payload = '{broken' where position = (
         select min(m.position) from outbox_messages as m
         join outbox_partitions as p on p.partition = m.partition
         join outbox_topics as t on t.topic = p.topic
         where t.name = ?
       )`,
      numbers.name,
    )

    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(payloads()).toEqual([2])
    expect(letters).toMatchObject([{ message: { payload: '{broken' } }])
    expect(letters[0]!.reason).toContain('the payload cannot be decoded')
  })

  test('a reason with characters that no database stores is stored without them', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(numbers, async (_, ctx) => ctx.reject(`a\0b\ud800 ${'x'.repeat(5_000)}`))

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters).toHaveLength(1)
  })

  test('retries and dead letters are in the log, with what they are about', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(
      numbers,
      async () => {
        throw new Error('no luck')
      },
      { ...SOON, maxAttempts: 2 },
    )

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    const lines = place.log.lines.filter(({ data }) => data['topic'] === numbers.name)
    expect(lines.filter(({ level }) => level !== 'debug')).toMatchObject([
      {
        level: 'warn',
        message: 'handler failed; the message is retried',
        data: { outbox: 'outbox', partition: 0, attempt: 1, err: new Error('no luck') },
      },
      {
        level: 'error',
        message: 'message became a dead letter',
        data: { outbox: 'outbox', partition: 0, attempt: 2, reason: 'Error: no luck' },
      },
    ])
  })
})
