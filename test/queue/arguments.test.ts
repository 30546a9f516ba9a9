// What callers say is checked at once, and nothing has happened when it was wrong.

import { describe, expect, test } from 'vitest'
import type { Queue } from '../../src/queue/index.ts'
import { queueInTime } from './support.ts'

describe('arguments of a queue', () => {
  test.each([
    [
      (queue: Queue<unknown>) => queue.push(1, { prioritty: 1 } as never),
      'did you mean "priority"?',
    ],
    [(queue) => queue.push(1, { priority: 1.5 }), 'priority must be a whole number'],
    [
      (queue) => queue.push(1, { delay: 'soon' as never }),
      'delay must be a number of milliseconds or a string',
    ],
    [(queue) => queue.push(1, { key: '' }), 'key must be a non-empty string, got ""'],
    [
      (queue) => queue.push(1, { key: 'k'.repeat(1_025) }),
      'queue push: key must not be longer than 1024 characters, got 1025: "kkk',
    ],
    [
      (queue) => queue.push(1, { dedupeKey: 'k'.repeat(1_025) }),
      'queue push: dedupeKey must not be longer than 1024 characters',
    ],
    [(queue) => queue.push(1, { key: 'a\0b' }), 'queue push: key must be a string without NUL'],
    [
      (queue) => queue.push(1, { dedupeKey: '\ud800' }),
      'dedupeKey must be a string without NUL and',
    ],
    [(queue) => queue.push(1, { delay: '36526d' }), 'delay must be at most 100 years'],
    [(queue) => queue.push(1, { delay: 1e300 }), 'delay must be at most 100 years'],
    [
      (queue) => queue.push(1, { ttl: Number.MAX_SAFE_INTEGER }),
      "queue push: ttl must be at most 100 years ('36525d'), got 9007199254740991",
    ],
    [(queue) => queue.push(1, { ttl: 0 }), 'ttl must be at least 1 ms'],
    [(queue) => queue.push(() => {}), 'queue push: cannot store a function at $'],
    [(queue) => queue.pushMany('text' as never), 'items must be a list, got "text"'],
    [(queue) => queue.get(-1), 'queue get: id must be a whole number, 0 or more, got -1'],
    [(queue) => queue.take({ timout: 1 } as never), 'did you mean "timeout"?'],
    [(queue) => queue.take({ signal: 1 as never }), 'signal must be an AbortSignal, got 1'],
    [(queue) => queue.takeMany(0), 'max must be a whole number, 1 or more, got 0'],
    [
      (queue) => queue.ack([{ id: 0 } as never]),
      'expected deliveries of this queue, got an object',
    ],
    [(queue) => queue.remove([0.5]), 'queue remove: ids[0] must be a whole number'],
    [(queue) => queue.dead.list({ limit: 0 }), 'limit must be a whole number, 1 or more, got 0'],
    [async (queue) => queue.consume({ prefetch: -1 }), 'prefetch must be a whole number'],
    [async (queue) => queue.handle('x' as never), 'run must be a function, got "x"'],
    [
      async (queue) => queue.handle(async () => {}, { concurrency: 0 }),
      'concurrency must be a whole',
    ],
  ] satisfies [(queue: Queue<unknown>) => Promise<unknown>, string][])(
    'is checked: %s',
    async (say, complaint) => {
      await using under = await queueInTime<unknown>()

      await expect(say(under.queue)).rejects.toThrow(complaint)
      expect(under.queue.isEmpty).toBe(true)
    },
  )

  test('a delivery is checked like the queue, and stays as it was', async () => {
    await using under = await queueInTime<string>()
    await under.queue.push('work')
    const delivery = (await under.queue.take())!

    for (const [say, complaint] of [
      [() => delivery.extend(1e15), 'queue extend: by must be at most 100 years'],
      [() => delivery.nack({ delay: 1e15 }), 'queue nack: delay must be at most 100 years'],
    ] as const) {
      await expect(say()).rejects.toThrow(complaint)
    }

    expect(under.queue.counts.inFlight).toBe(1)
    await delivery.ack()
  })

  test('the longest names and keys are kept as they are', async () => {
    const longest = 'k'.repeat(1_024)
    await using under = await queueInTime<string>({ name: longest })
    const { queue } = under

    const id = await queue.push('a', { key: longest, dedupeKey: longest })

    expect(await queue.push('b', { dedupeKey: longest })).toBe(id)
    await expect(queueInTime({ name: `${longest}k` })).rejects.toThrow(
      'openQueue: name must not be longer than 1024 characters, got 1025',
    )
  })

  test.each([
    ['nack() is given', (queue: Queue<string>) => nackFirst(queue, 'r'.repeat(1_000_000)), /^r+…/],
    [
      'a handler throws',
      async (queue: Queue<string>) => {
        queue.handle(async () => {
          throw new Error('m'.repeat(1_000_000))
        })
      },
      /^Error: m+…/,
    ],
  ])('a long reason that %s is kept, but shortened', async (_, settle, start) => {
    await using under = await queueInTime<string>({ maxAttempts: 1 })
    await under.queue.push('work')

    await settle(under.queue)
    await under.pass(10)

    const [dead] = await under.queue.dead.list()
    expect(dead!.reason.length).toBeLessThanOrEqual(4_096)
    expect(dead!.reason).toMatch(start)
  })

  test('a delivery of another queue is refused', async () => {
    await using under = await queueInTime<string>()
    await using other = await queueInTime<string>()
    await other.queue.push('theirs')
    const theirs = await other.queue.take()

    await expect(under.queue.ack([theirs!])).rejects.toThrow('expected deliveries of this queue')
  })
})

async function nackFirst(queue: Queue<string>, reason: string): Promise<void> {
  const delivery = await queue.take()
  await delivery!.nack({ reason })
}
