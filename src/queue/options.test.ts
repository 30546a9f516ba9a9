import { describe, expect, expectTypeOf, test } from 'vitest'
import type { MemoryQueue, Queue, QueueCodec, QueueOptions } from './index.ts'
import { openQueue } from './index.ts'
import { queueSettings } from './options.ts'

describe('the options of a queue', () => {
  test('all have a default', () => {
    expect(queueSettings(undefined)).toMatchObject({
      name: 'default',
      lazy: false,
      leaseMs: 30_000,
      maxAttempts: Infinity,
      nackBackoff: { initialMs: 0 },
      handlerBackoff: { initialMs: 1_000, maxMs: 300_000 },
      capacity: Infinity,
      whenFull: 'wait',
      durability: 'fsync',
      dedupeMs: 300_000,
    })
  })

  test('a back-off that is given holds for nacks and handlers', () => {
    const backoff = { initialMs: 10, maxMs: 20 }

    expect(queueSettings({ backoff: { initial: 10, max: 20 } })).toMatchObject({
      nackBackoff: backoff,
      handlerBackoff: backoff,
    })
  })

  test.each([
    [{ lazzy: true }, 'openQueue: unknown option "lazzy", did you mean "lazy"?'],
    [{ name: '' }, 'openQueue: name must be a non-empty string, got ""'],
    [{ name: 'a\0b' }, 'openQueue: name must be a string without NUL'],
    [{ lease: 0 }, 'openQueue: lease must be at least 1 ms, got 0'],
    [
      { lease: 1e15 },
      "openQueue: lease must be at most 100 years ('36525d'), got 1000000000000000",
    ],
    [{ dedupeWindow: '36526d' }, 'openQueue: dedupeWindow must be at most 100 years'],
    [{ backoff: { max: 1e300 } }, 'max must be at most 100 years'],
    [{ maxAttempts: 0 }, 'openQueue: maxAttempts must be a whole number, 1 or more, got 0'],
    [{ capacity: 1.5 }, 'openQueue: capacity must be a whole number, 1 or more, got 1.5'],
    [{ whenFull: 'drop' }, "openQueue: whenFull must be one of 'wait', 'refuse', got \"drop\""],
    [{ durability: 'some' }, "openQueue: durability must be one of 'fsync', 'os', got"],
    [{ backoff: { initail: 1 } }, 'unknown option "initail", did you mean "initial"?'],
    [
      { dedupeWindow: 'long' },
      'openQueue: dedupeWindow must be a number of milliseconds or a string such as',
    ],
    [{ log: {} }, 'openQueue: log must be a logger, but it has no method debug()'],
  ])('are checked: %o', (given, complaint) => {
    expect(() => queueSettings(given as never)).toThrow(complaint)
  })

  test.each([
    ['', 'openQueue: path must be the path of a file, got ""'],
    [undefined, 'openQueue: path must be the path of a file, got undefined'],
    [new URL('file:///mail.db'), 'got a URL; use fileURLToPath() of node:url'],
    ['file:mail.db', 'openQueue: path must be a path, not a URL, got "file:mail.db"; use'],
    ['file:/tmp/mail.db?mode=ro', 'must be a path, not a URL'],
    ['postgres://localhost/mail', 'must be a path, not a URL'],
    ['memory:', 'must be a path, not a URL, got "memory:"; a queue is kept in a file'],
  ])('an invalid path is refused: %s', async (path, complaint) => {
    await expect(openQueue(path as string)).rejects.toThrow(new TypeError(complaint).message)
  })
})

test('the type of the messages is given once, or taken from the codec', () => {
  interface Order {
    readonly id: string
  }
  const opened = () => openQueue<Order>('orders.db', { maxAttempts: 3 })
  const coded = (codec: QueueCodec<Order>) => openQueue('orders.db', { codec })
  const shared = (options: QueueOptions) => openQueue<Order>('orders.db', options)

  expectTypeOf<Awaited<ReturnType<typeof opened>>>().toEqualTypeOf<Queue<Order>>()
  expectTypeOf<Awaited<ReturnType<typeof coded>>>().toEqualTypeOf<Queue<Order>>()
  expectTypeOf<Awaited<ReturnType<typeof shared>>>().toEqualTypeOf<Queue<Order>>()
  expectTypeOf<(order: { data: Order }) => Promise<Response>>().toExtend<
    Parameters<Queue<Order>['handle']>[0]
  >()
  expectTypeOf<Queue<Order>['push']>().parameter(0).toEqualTypeOf<Order>()
  expectTypeOf<MemoryQueue<Order>['pop']>().returns.toEqualTypeOf<Order | undefined>()
})
