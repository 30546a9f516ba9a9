import { expect, test } from 'vitest'
import { deferred, eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

const SOON = { retry: { delay: 5, maxDelay: 10 } }

describeOutbox('partitions that could stall', (place) => {
  test('large messages that are done do not hide the ones behind them', async () => {
    const box = place.outbox()
    const texts = place.topic<string>()
    const large = 'x'.repeat(900_000)
    const delivered: number[] = []
    box.handleBatch(
      texts,
      async (messages, ctx) => {
        for (const message of messages) {
          const isFirst = message.seq === 1
          if (isFirst && message.attempt === 1) ctx.retry(message, 5)
          else {
            ctx.ack(message)
            delivered.push(message.seq)
          }
        }
      },
      { ...SOON, batchSize: 5 },
    )

    await place.send(
      box,
      texts,
      { payload: 'small' },
      ...upTo(4).map(() => ({ payload: large })),
      ...upTo(4).map(() => ({ payload: 'small' })),
    )
    await box.drain({ timeout: '10s' })

    expect(delivered.toSorted((a, b) => a - b)).toEqual(upTo(9))
  })

  test('skip: other keys continue past the end of a pass while one waits for long', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(
      numbers,
      async (message, ctx) => {
        if (message.key === 'bad') ctx.retry('1m')
        await run(message)
      },
      { whenStuck: 'skip', batchSize: 2 },
    )

    await place.send(
      box,
      numbers,
      { payload: 0, key: 'bad' },
      ...upTo(60).map((payload) => ({ payload, key: `k${payload % 7}` })),
    )
    await box.start()
    await eventually(() => seen.length === 60)

    expect(seen.map(({ payload }) => payload)).toEqual(upTo(60))
  })

  test('a retry after a fraction of a millisecond is stored, and neighbours are not delivered twice', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(4)
    const calls: string[] = []
    box.handle(numbers, async ({ payload, attempt }, ctx) => {
      calls.push(`${payload}/${attempt}`)
      if (payload === 1 && attempt === 1) ctx.retry(1.25)
    })

    await place.send(
      box,
      numbers,
      ...upTo(4).map((payload) => ({ payload, partition: payload - 1, delay: 0.5 })),
    )
    await box.start()
    await eventually(() => box.health().totals.delivered === 4)

    expect(calls.toSorted()).toEqual(['1/1', '1/2', '2/1', '3/1', '4/1'])
  })

  test.each([
    ['an object without a prototype', () => Object.create(null) as object],
    ['nothing at all', () => undefined],
    [
      'an object that cannot be shown',
      () => ({
        toString() {
          throw new Error('no')
        },
      }),
    ],
  ])('a handler that throws %s has failed like any other', async (_, thrown) => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handle(
      numbers,
      async ({ payload }) => {
        // oxlint-disable-next-line typescript/only-throw-error -- users do
        if (payload === 1) throw thrown()
      },
      { ...SOON, maxAttempts: 2 },
    )

    await place.send(box, numbers, ...items(upTo(2)))
    await box.drain({ timeout: '10s' })

    expect(box.health().totals).toMatchObject({ delivered: 1, dead: 1 })
  })

  test('skip: a transaction that cannot be committed is blamed on one message', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const calls = new Map<number, number>()
    box.handleTransactional(
      numbers,
      async ({ payload }) => {
        calls.set(payload, (calls.get(payload) ?? 0) + 1)
        // On both stores a failure that no savepoint can undo.
        if (payload === 1) await new Promise((resolve) => setTimeout(resolve, 1))
        if (payload === 1) throw new Error('no')
      },
      { whenStuck: 'skip', retry: { delay: '1m', maxDelay: '1m' } },
    )

    await place.send(box, numbers, ...upTo(20).map((payload) => ({ payload, key: `k${payload}` })))
    await box.start()
    await eventually(() => box.health().totals.delivered === 19)

    expect(calls.get(1)).toBeLessThan(5)
  })

  test('messages that a stopped outbox leaves are delivered by another one at once', async () => {
    const [first, second] = [place.outbox(), place.outbox()]
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    const begun = deferred()
    const end = deferred()
    first.handle(numbers, async () => {
      begun.resolve()
      await end.promise
    })
    second.handle(numbers, run)
    await first.start()
    await place.send(first, numbers, ...items(upTo(3)))
    await begun.promise
    await second.start()
    const began = performance.now()

    const stopped = first.stop()
    end.resolve()
    await stopped
    await eventually(() => seen.length === 2)

    // The next tick would come after ten seconds.
    expect(performance.now() - began).toBeLessThan(6_000)
    expect(seen.map(({ payload }) => payload)).toEqual([2, 3])
  })

  test('so is the message of a handler that hangs when its outbox is stopped', async () => {
    const [first, second] = [place.outbox(), place.outbox()]
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    const begun = deferred()
    first.handle(numbers, async () => {
      begun.resolve()
      await new Promise(() => {})
    })
    second.handle(numbers, run)
    await first.start()
    await place.send(first, numbers, ...items(upTo(2)))
    await begun.promise
    await second.start()

    await first.stop({ within: 200 })
    const stoppedMs = performance.now()
    await eventually(() => seen.length === 2)

    // The next tick would come after ten seconds.
    expect(performance.now() - stoppedMs).toBeLessThan(4_000)
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  test('a start that fails leaves nothing running', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, { payload: 1 })
    const [from, to] = ['outbox_delayed', 'outbox_elsewhere']
    await place.sql(`alter table ${from} rename to ${to}`)

    await expect(box.start()).rejects.toThrow('outbox')
    await place.sql(`alter table ${to} rename to ${from}`)

    expect(seen).toEqual([])
    expect(box.health().workers.every(({ state }) => state === 'stopped')).toBe(true)
    await box.drain()
    expect(seen).toHaveLength(1)
  })
})
