import { expect, test } from 'vitest'
import type { NewMessage, TopicRow } from '../store/outbox-store.ts'
import { encodeMessages, type EnqueueItem, placed } from './enqueue.ts'
import { partitionOf } from './partition-of.ts'
import { PartitionTurns } from './partition-turns.ts'
import { definitionOf, topic, type TopicOptions } from './topic.ts'

const ROW: TopicRow = { topic: 3, name: 'orders', first: 100, partitions: 4 }

const encode = (value: unknown, label: string): string => {
  if (typeof value === 'function') throw new TypeError(`${label} cannot be encoded`)
  return JSON.stringify(value)
}

/** Messages of a topic with four partitions, which begin at 100. */
async function made(
  items: readonly EnqueueItem<unknown>[],
  { maxPayloadBytes = 1_000, ...options }: TopicOptions<unknown, unknown> & Limits = {},
): Promise<NewMessage[]> {
  const orders = definitionOf('test', topic('orders', { partitions: 4, ...options }))
  const encoding = { encode, maxPayloadBytes, turns: new PartitionTurns() }
  return placed(await encodeMessages('enqueue', orders, items, encoding), ROW)
}

interface Limits {
  readonly maxPayloadBytes?: number
}

test('a message has what was given, and nothing else', async () => {
  const [full] = await made([
    {
      payload: { n: 1 },
      key: 'k',
      partition: 2,
      dedupeKey: 'd',
      delay: '2s',
      ttl: '1m',
      headers: { traceparent: '00-1' },
    },
  ])
  const [bare] = await made([{ payload: null, partition: 0 }])

  expect(full).toEqual({
    partition: 102,
    topic: 3,
    key: 'k',
    payload: '{"n":1}',
    headers: '{"traceparent":"00-1"}',
    delayMs: 2_000,
    ttlMs: 60_000,
    dedupeKey: 'd',
  })
  expect(bare).toEqual({
    partition: 100,
    topic: 3,
    key: null,
    payload: 'null',
    headers: null,
    delayMs: 0,
    ttlMs: null,
    dedupeKey: null,
  })
})

test('times are rounded up to whole milliseconds', async () => {
  const [message] = await made([{ payload: 1, delay: 0.1, ttl: '1.5ms' }])

  expect(message).toMatchObject({ delayMs: 1, ttlMs: 2 })
})

test('a key leads to its partition, counted from the first of the topic [resolve_partition_cache_hit]', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e']

  const messages = await made(keys.map((key) => ({ payload: 1, key })))

  expect(messages.map(({ partition }) => partition)).toEqual(
    keys.map((key) => 100 + partitionOf(key, 4)),
  )
})

test('messages without a key take the partitions in turn', async () => {
  const messages = await made(Array.from({ length: 8 }, () => ({ payload: 1 })))

  const partitions = messages.map(({ partition }) => partition)
  expect(partitions.slice(0, 4).toSorted((a, b) => a - b)).toEqual([100, 101, 102, 103])
  expect(partitions.slice(4)).toEqual(partitions.slice(0, 4))
})

test('a partition that the topic does not have is refused [resolve_partition_out_of_range]', async () => {
  await expect(made([{ payload: 1, partition: 4 }])).rejects.toThrow(
    new RangeError(
      'enqueue: partition must be below 4, which is how many topic "orders" has, got 4',
    ),
  )
})

test('one of several messages is named by its place [enqueue_batch_rejects_out_of_range_partition]', async () => {
  await expect(made([{ payload: 1 }, { payload: 2, partition: 9 }])).rejects.toThrow(
    'enqueue: message 2 of 2: partition must be below 4',
  )
})

test('messages are a list of objects', async () => {
  for (const [given, shown] of [
    ['a', '"a"'],
    [{}, 'an object'],
    [undefined, 'undefined'],
  ] as const) {
    await expect(made(given as never)).rejects.toThrow(
      new TypeError(`enqueue: messages must be a list, got ${shown}`),
    )
  }
  const sparse: never[] = []
  sparse.length = 1
  await expect(made([1, 2] as never)).rejects.toThrow(
    new TypeError('enqueue: message 1 of 2 must be an object with a payload, got 1'),
  )
  await expect(made([null] as never)).rejects.toThrow(
    new TypeError('enqueue: message 1 of 1 must be an object with a payload, got null'),
  )
  await expect(made([{ key: 'a' }] as never)).rejects.toThrow(
    new TypeError('enqueue: message 1 of 1 has no payload: write { payload, ...options }'),
  )
  await expect(made(Array.from({ length: 1 }))).rejects.toThrow('got undefined')
  await expect(made([{ payload: 1 }, null as never])).rejects.toThrow(
    new TypeError('enqueue: message 2 of 2 must be an object with a payload, got null'),
  )
})

test('a payload of exactly the limit is accepted, in bytes [validate_payload_at_exact_limit]', async () => {
  const [message] = await made([{ payload: 'é'.repeat(4) }], { maxPayloadBytes: 10 })

  expect(Buffer.byteLength(message!.payload)).toBe(10)
})

test('a larger payload is refused with its size [validate_payload_oversized]', async () => {
  await expect(made([{ payload: 'x'.repeat(9) }], { maxPayloadBytes: 10 })).rejects.toThrow(
    new RangeError(
      'enqueue: the payload has 11 bytes, and at most 10 are allowed; store large data elsewhere and ' +
        'enqueue a reference, or raise maxPayloadBytes of outbox()',
    ),
  )
})

test('one larger payload among several is named [enqueue_batch_rejects_oversized_payload]', async () => {
  const items = [{ payload: 'x' }, { payload: 'x'.repeat(20) }, { payload: 'y' }]

  await expect(made(items, { maxPayloadBytes: 10 })).rejects.toThrow(
    'enqueue: message 2 of 3: the payload has 22 bytes, and at most 10 are allowed',
  )
})

test('an empty payload is accepted [validate_payload_empty]', async () => {
  expect((await made([{ payload: '' }]))[0]!.payload).toBe('""')
})

test('a payload that cannot be encoded is refused', async () => {
  await expect(made([{ payload: () => 1 }])).rejects.toThrow(
    'enqueue: the payload cannot be encoded',
  )
})

test('a schema decides what is stored', async () => {
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: async (value: unknown) =>
        typeof value === 'number'
          ? { value: value * 2 }
          : { issues: [{ message: 'must be a number', path: ['n'] }] },
    },
  }

  expect((await made([{ payload: 4 }], { schema }))[0]!.payload).toBe('8')
  await expect(made([{ payload: 'x' }], { schema })).rejects.toThrow(
    new TypeError('enqueue: the payload is not valid: $.n: must be a number'),
  )
})

/** Accepts everything, now or later. */
const accepting = (answer: (value: unknown) => unknown) => ({
  '~standard': { version: 1 as const, vendor: 'test', validate: answer },
})

test.each([
  ['without a schema', undefined],
  ['with a schema', accepting((value) => ({ value }))],
  [
    'with a schema that answers later',
    accepting(async (value) => ({ value: structuredClone(value) })),
  ],
])('what is changed after the call is stored as it was, %s', async (_, schema) => {
  const payload = { n: 1 }
  const headers = { a: 'x' }
  const items: EnqueueItem<unknown>[] = [{ payload, headers }]

  const making = made(items, schema === undefined ? {} : { schema })
  payload.n = 9
  headers.a = 'y'
  items.push({ payload: 'more' })

  const messages = await making
  expect(messages).toMatchObject([{ payload: '{"n":1}', headers: '{"a":"x"}' }])
})

test.each(['key', 'dedupeKey'] as const)(
  'a %s is plain text of 1 to 500 characters',
  async (name) => {
    const rule = `enqueue: ${name} must be a string of 1 to 500 characters without control characters, got`
    const longest = 'x'.repeat(500)

    expect((await made([{ payload: 1, [name]: longest }]))[0]![name]).toBe(longest)
    for (const [value, shown] of [
      ['', '""'],
      ['x'.repeat(501), `"${'x'.repeat(80)}…"`],
      ['a\0b', String.raw`"a\u0000b"`],
      ['a\nb', String.raw`"a\nb"`],
      ['\ud800', String.raw`"\ud800"`],
      [7, '7'],
      [null, 'null'],
    ] as const) {
      await expect(made([{ payload: 1, [name]: value as string }])).rejects.toThrow(
        new TypeError(`${rule} ${shown}`),
      )
    }
  },
)

test('headers are an object with string values', async () => {
  const refused = [
    ['text', 'must be an object with string values, got "text"'],
    [['a'], 'must be an object with string values, got an array of 1'],
    [null, 'must be an object with string values, got null'],
    [{ a: 1 }, ': "a" must be a string, got 1'],
    [
      { a: 'x\0' },
      ': "a" must not contain U+0000, lone surrogates or, in its name, control characters',
    ],
    [
      { 'a\n': 'x' },
      String.raw`: "a\n" must not contain U+0000, lone surrogates or, in its name, control characters`,
    ],
  ] as const
  for (const [headers, text] of refused) {
    await expect(made([{ payload: 1, headers: headers as never }])).rejects.toThrow(
      new TypeError(`enqueue: headers${text.startsWith(':') ? '' : ' '}${text}`),
    )
  }
})

/** Headers of this length, as JSON. */
const headersOf = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) })

test('headers have at most 16384 characters as JSON', async () => {
  expect((await made([{ payload: 1, headers: headersOf(16_384) }]))[0]!.headers).toHaveLength(
    16_384,
  )
  await expect(made([{ payload: 1, headers: headersOf(16_385) }])).rejects.toThrow(
    new RangeError('enqueue: headers must have at most 16384 characters as JSON, got 16385'),
  )
})

test('a header may have line breaks in its value', async () => {
  const [message] = await made([{ payload: 1, headers: { note: 'a\nb' } }])

  expect(message!.headers).toBe(String.raw`{"note":"a\nb"}`)
})

test.each([
  [{ partition: -1 }, 'enqueue: partition must be a whole number, 0 or more, got -1'],
  [{ partition: 1.5 }, 'enqueue: partition must be a whole number, 0 or more, got 1.5'],
  [{ ttl: 0 }, 'enqueue: ttl'],
  [{ ttl: 'soon' }, 'enqueue: ttl'],
  [{ delay: -1 }, 'enqueue: delay'],
  [{ delay: 'later' }, 'enqueue: delay'],
  [{ keys: 'a' }, 'enqueue: unknown option "keys"'],
])('an option such as %j is refused', async (options, message) => {
  await expect(made([{ payload: 1, ...(options as object) }])).rejects.toThrow(message)
})
