import { expect, test } from 'vitest'
import { show } from './show.ts'

test('plain JSON is shown as it is', () => {
  const value = { a: [1, 'two', true, null], b: { c: {} } }

  expect(show(value, 'long')).toEqual({ shown: value, truncated: false })
})

test.each([
  [undefined, { $: 'undefined' }],
  [NaN, { $: 'number', v: 'NaN' }],
  [-0, { $: 'number', v: '-0' }],
  [-Infinity, { $: 'number', v: '-Infinity' }],
  [12n, { $: 'bigint', v: '12' }],
  [new Date(0), { $: 'date', v: '1970-01-01T00:00:00.000Z' }],
  [new Date(NaN), { $: 'date', v: '' }],
  [new Uint8Array([1, 2, 3]), { $: 'bytes', v: 'AQID', length: 3 }],
  [new Set([1, new Date(0)]), { $: 'set', v: [1, { $: 'date', v: '1970-01-01T00:00:00.000Z' }] }],
  [new Map([[{ a: 1 }, 2n]]), { $: 'map', v: [[{ a: 1 }, { $: 'bigint', v: '2' }]] }],
  [Symbol('x'), { $: 'other', v: 'Symbol(x)' }],
  [new WeakMap(), { $: 'other', v: 'a WeakMap' }],
  [
    { $: 'date', v: 'of the user' },
    {
      $: 'object',
      v: [
        ['$', 'date'],
        ['v', 'of the user'],
      ],
    },
  ],
  [JSON.parse('{"__proto__":1}'), { $: 'object', v: [['__proto__', 1]] }],
])('%o has a form of its own', (value, shown) => {
  expect(show(value, 'full')).toEqual({ shown, truncated: false })
  expect(JSON.parse(JSON.stringify(show(value, 'full').shown))).toEqual(shown)
})

test('an error has its name, its message, its cause and its own properties', () => {
  const error = Object.assign(new TypeError('no', { cause: new Error('because') }), { code: 7 })

  expect(show(error, 'long').shown).toMatchObject({
    $: 'error',
    name: 'TypeError',
    message: 'no',
    v: { code: 7, cause: { $: 'error', message: 'because' } },
  })
})

test('what is too long or too deep is cut, and says how much is missing', () => {
  const deep = { a: { b: { c: { d: { e: 1 } } } } }

  expect(show('x'.repeat(201), 'short')).toEqual({
    shown: { $: 'text', v: 'x'.repeat(200), length: 201 },
    truncated: true,
  })
  expect(show(`${'x'.repeat(199)}😀`, 'short').shown).toMatchObject({ v: 'x'.repeat(199) })
  expect(
    show(
      Array.from({ length: 12 }, (_, i) => i),
      'short',
    ),
  ).toEqual({
    shown: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, { $: 'more', count: 2 }],
    truncated: true,
  })
  expect(show(deep, 'short').shown).toEqual({ a: { b: { c: { d: { $: 'more', count: 1 } } } } })
  const wide = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`k${i}`, i]))
  expect(show(wide, 'short').shown).toMatchObject({ $: 'object' })
  expect((show(wide, 'short').shown as { v: unknown[] }).v.at(-1)).toEqual({ $: 'more', count: 2 })
  expect(show(new Uint8Array(100), 'short').shown).toMatchObject({ $: 'bytes', length: 100 })
  expect(show([deep, wide, 'x'.repeat(300)], 'full')).toEqual({
    shown: [deep, wide, 'x'.repeat(300)],
    truncated: false,
  })
})

test('a short form stays short, whatever the value is', () => {
  const nested = (depth: number): unknown =>
    depth === 0 ? 'x'.repeat(1_000) : Array.from({ length: 20 }, () => nested(depth - 1))

  expect(JSON.stringify(show(nested(4), 'short')).length).toBeLessThan(15_000)
})
