import { describe, expect, test } from 'vitest'

import { encode } from './codec.ts'

describe('values that are refused, with their kind and path', () => {
  class Invoice {
    readonly total = 1
  }
  const a: Record<string, unknown> = {}
  a['b'] = [{ c: a }]
  const table: [unknown, string][] = [
    [() => 1, 'a function at $'],
    [{ order: { items: [0, 1, 2, { price() {} }] } }, 'a function at $.order.items[3].price'],
    [{ 'unit price': [Symbol('s')] }, 'a symbol at $["unit price"][0]'],
    [{ a: { [Symbol('s')]: 1 } }, 'the symbol key Symbol(s) at $.a'],
    [{ invoice: new Invoice() }, 'an instance of Invoice at $.invoice; convert it to plain data'],
    [
      new (class extends Map {})(),
      'an instance of a class without a name at $; convert it to plain data',
    ],
    [
      [new (class List extends Array {})()],
      'an instance of List at $[0]; convert it to plain data',
    ],
    [Object.create({ inherited: 1 }), 'an instance of Object at $; convert it to plain data'],
    [[Object(1)], 'a boxed Number at $[0]'],
    [[Object('s')], 'a boxed String at $[0]'],
    [{ user: Promise.resolve(1) }, 'a Promise at $.user; did you forget await?'],
    [new WeakMap(), 'an instance of WeakMap at $; convert it to plain data'],
    [/x/, 'an instance of RegExp at $; convert it to plain data'],
    [new Float64Array(1), 'an instance of Float64Array at $; convert it to plain data'],
    [new ArrayBuffer(1), 'an instance of ArrayBuffer at $; convert it to plain data'],
    [new URL('http://x'), 'an instance of URL at $; convert it to plain data'],
    [new Map([['eur', [Symbol('s')]]]), 'a symbol at $.get("eur")[0]'],
    [new Map([[1, Symbol('s')]]), 'a symbol at $.values()[0]'],
    [
      new Map<unknown, unknown>([
        [1, 1],
        [{ k: Symbol('s') }, 1],
      ]),
      'a symbol at $.keys()[1].k',
    ],
    [{ s: new Set([1, Symbol('s')]) }, 'a symbol at $.s.values()[1]'],
    [a, 'a cycle at $.b[0].c; it leads back to $'],
    [{ x: [1, a] }, 'a cycle at $.x[1].b[0].c; it leads back to $.x[1]'],
  ]

  test.each(table)('%o is refused', (value, message) => {
    expect(() => encode(value)).toThrow(new TypeError(`codec: cannot store ${message}`))
  })

  test('a label says whose value it is', () => {
    expect(() => encode([Symbol('s')], 'input of workflow "pay"')).toThrow(
      'input of workflow "pay": cannot store a symbol at $[0]',
    )
  })

  test('nesting of more than 1,000 levels is refused, with a readable path', () => {
    for (const leaf of [1, 1n]) {
      expect(() => encode(nest(1001, leaf))).toThrow(
        /^codec: cannot store more than 1000 levels of nesting at \$(\[0\]){40} … (\[0\]){40}$/,
      )
    }
  })

  test('a getter that throws is named, with its error as the cause', () => {
    const cause = new Error('no')
    const value = {
      a: {
        get b(): never {
          throw cause
        },
      },
    }

    expect(() => encode(value)).toThrow(
      expect.objectContaining({ message: 'codec: cannot read the value at $.a.b', cause }),
    )
  })

  test('properties that are not enumerable are no reason to refuse', () => {
    const value = Object.defineProperty({ a: 1 }, Symbol('hidden'), { value: 1 })

    expect(encode(value)).toBe('{"a":1}')
  })
})

function nest(levels: number, leaf: unknown): unknown {
  let value = leaf
  for (let i = 0; i < levels; i++) value = [value]
  return value
}
