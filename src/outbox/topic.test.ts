import { expect, expectTypeOf, test } from 'vitest'
import type { Schema } from '../base/schema.ts'
import { definitionOf, type Topic, topic } from './topic.ts'

const RULE =
  'topic: name must have 1 to 1024 letters, digits, dots, dashes or underscores, and begin and end ' +
  'with a letter or digit'

test.each([
  ['a simple name is accepted [queue_name_simple]', ['orders']],
  [
    'dots, dashes and underscores are accepted inside [queue_name_with_dots_and_dashes]',
    ['orders.v2', 'my-queue', 'my_queue'],
  ],
  ['a single letter or digit is a name [queue_name_single_char]', ['a', '9']],
  ['a name of 1024 characters is accepted [queue_name_1024_chars]', ['x'.repeat(1024)]],
  ['upper and lower case may be mixed [queue_name_mixed_case]', ['OrdersAndMore']],
])('%s', (_, names) => {
  for (const name of names) expect(topic(name).name).toBe(name)
})

test.each([
  ['an empty name is refused [queue_name_empty]', '', '""'],
  [
    'a name of 1025 characters is refused [queue_name_too_long]',
    'x'.repeat(1025),
    `"${'x'.repeat(80)}…"`,
  ],
  ['a dot at the beginning is refused [queue_name_starts_with_dot]', '.orders', '".orders"'],
  ['a dash at the end is refused [queue_name_ends_with_dash]', 'orders-', '"orders-"'],
  ['a zero byte is refused [queue_name_null_byte]', 'or\0ders', String.raw`"or\u0000ders"`],
  ['spaces are refused [queue_name_spaces]', 'my orders', '"my orders"'],
  ['letters beyond ASCII are refused [queue_name_unicode]', 'bestellungen-für-x', undefined],
  ['slashes are refused [queue_name_slashes]', 'a/b', '"a/b"'],
])('%s', (_, name, shown) => {
  expect(() => topic(name)).toThrow(new TypeError(`${RULE}, got ${shown ?? `"${name}"`}`))
})

test('a name ends where it ends: a line break behind it is refused', () => {
  expect(() => topic('orders\n')).toThrow(RULE)
})

test('something that is no string is refused as a name', () => {
  expect(() => topic(7 as never)).toThrow(new TypeError(`${RULE}, got 7`))
})

test('a topic reports its number of partitions, from 1 to 1024 [partitions_count]', () => {
  const counts = [1, 2, 3, 4, 8, 16, 32, 64, 1000, 1024]

  expect(counts.map((partitions) => topic('orders', { partitions }).partitions)).toEqual(counts)
  expect(topic('orders').partitions).toBe(16)
})

test.each([0, 1025, 1.5, -1, Number.NaN, Infinity, '4'])(
  'a number of partitions such as %s is refused',
  (partitions) => {
    expect(() => topic('orders', { partitions: partitions as never })).toThrow(
      new RangeError(
        'topic "orders": partitions must be a whole number, from 1 to 1024, got ' +
          (typeof partitions === 'string' ? `"${partitions}"` : String(partitions)),
      ),
    )
  },
)

test('a schema that is none is refused', () => {
  expect(() => topic('orders', { schema: {} as never })).toThrow(
    new TypeError('topic "orders": schema must be a Standard Schema, got an object'),
  )
})

test('an unknown option is refused', () => {
  expect(() => topic('orders', { partition: 3 } as never)).toThrow(
    'topic "orders": unknown option "partition"',
  )
})

test('a topic cannot be changed', () => {
  expect(Object.isFrozen(topic('orders'))).toBe(true)
})

test('only what topic() made is a topic', () => {
  const real = topic('orders')

  expect(definitionOf('enqueue', real)).toEqual({
    name: 'orders',
    partitions: 16,
    schema: undefined,
  })
  for (const [fake, shown] of [
    [{ ...real }, 'an object'],
    ['orders', '"orders"'],
    [undefined, 'undefined'],
    [null, 'null'],
  ] as const) {
    expect(() => definitionOf('enqueue', fake)).toThrow(
      new TypeError(`enqueue: needs a topic, made by topic(), got ${shown}`),
    )
  }
})

test('what producers pass and what handlers receive are two types', () => {
  interface Order {
    readonly id: string
  }
  const schema = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => value },
  }

  expectTypeOf(topic<Order>('orders')).toEqualTypeOf<Topic<Order, Order>>()
  expectTypeOf(topic('dates', { schema: schema as Schema<string, Date> })).toEqualTypeOf<
    Topic<string, Date>
  >()
})
