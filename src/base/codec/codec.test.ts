import { runInNewContext } from 'node:vm'

import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'

import { decode, encode } from './codec.ts'

function cross(value: unknown): unknown {
  return decode(encode(value))
}

describe('values that survive a round trip', () => {
  test.each([
    null,
    true,
    0,
    1.5e300,
    '',
    '!',
    '!u',
    '!!',
    'a\u0000b\u0001\u2028\ud800',
    [],
    {},
    { a: [1, { b: null }] },
    undefined,
    Number.NaN,
    Infinity,
    -Infinity,
    -0,
    0n,
    -12345678901234567890n,
    new Date(1_700_000_000_000),
    new Date(-8.64e15),
    new Date(8.64e15),
    new Uint8Array(),
    new Uint8Array([0, 1, 255]),
    new Map(),
    new Map<unknown, unknown>([[{ k: new Date(1) }, new Set([new Map([[undefined, -0]])])]]),
    new Set([Number.NaN, undefined, '!m']),
    [undefined, -0, [undefined]],
    { a: undefined, '': 1, 'b c': new Date(0) },
    ['!m', 1, 2],
    ['!e', { name: 'Error', message: 'x' }],
    [new Date(0), '!s', ['!s']],
    { '!u': '!u', x: 1n },
    new RangeError('out', { cause: new Map([[1n, new Error('in')]]) }),
  ])('%o comes back equal', (value) => {
    const back = cross(value)

    expect(back).toStrictEqual(value)
    expect(Object.is(back, -0)).toBe(Object.is(value, -0))
  })

  test('an invalid Date comes back as one', () => {
    expect(cross([new Date(Number.NaN)])).toEqual([new Date(Number.NaN)])
  })

  test('a Buffer comes back as Uint8Array with memory of its own', () => {
    const back = cross(Buffer.from('hello')) as Uint8Array

    expect(back).toStrictEqual(new Uint8Array([104, 101, 108, 108, 111]))
    expect(back.buffer.byteLength).toBe(5)
  })

  test('a view on part of a buffer is all that is kept of it', () => {
    expect(cross(new Uint8Array([1, 2, 3, 4]).subarray(1, 3))).toStrictEqual(new Uint8Array([2, 3]))
  })

  test('holes come back as undefined', () => {
    const back = cross([1, , 3]) // oxlint-disable-line no-sparse-arrays -- the case in question

    expect(back).toStrictEqual([1, undefined, 3])
  })

  test('an object without a prototype comes back as a plain one', () => {
    const bare = Object.assign(Object.create(null), { a: 1, d: new Date(2) }) as object

    expect(cross(bare)).toStrictEqual({ a: 1, d: new Date(2) })
  })

  test.each(['{"__proto__":{"polluted":1},"n":1}', '!{"__proto__":{"polluted":"!u"},"n":"!i1"}'])(
    'a key __proto__ in %s is kept and sets no prototype',
    (text) => {
      const value = decode(text) as object

      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(Object.keys(value)).toEqual(['__proto__', 'n'])
      expect('polluted' in value).toBe(false)
      expect(encode(value)).toBe(text)
    },
  )

  test('an object that is referenced twice comes back as two', () => {
    const shared = { n: 1n }

    const [a, b] = cross([shared, shared]) as [object, object]

    expect(a).toStrictEqual(b)
    expect(a).not.toBe(b)
  })

  test('values of other realms come back as values of this one', () => {
    const foreign: unknown = runInNewContext(
      '({ o: { a: [1] }, d: new Date(5), m: new Map([[1, new Set([2n])]]), e: new TypeError("x"),' +
        ' b: new Uint8Array([1]) })',
    )

    const back = cross(foreign) as { e: Error }

    expect(back).toStrictEqual({
      o: { a: [1] },
      d: new Date(5),
      m: new Map([[1, new Set([2n])]]),
      e: expect.any(TypeError),
      b: new Uint8Array([1]),
    })
  })

  test('dates made under fake timers are dates', () => {
    vi.useFakeTimers({ now: 1000 })
    const date = new Date()
    vi.useRealTimers()

    expect(cross(date)).toEqual(new Date(1000))
  })

  test('a proxy is what it looks like', () => {
    expect(cross(new Proxy({ a: 1 }, {}))).toStrictEqual({ a: 1 })
  })

  test('nesting of 1,000 levels is kept', () => {
    expect(encode(cross(nest(1000, 1n)))).toBe(encode(nest(1000, 1n)))
  })

  test('an error holds what cannot be stored as a description', () => {
    const back = cross([new Error('x', { cause: { run() {} } })]) as [Error]

    expect(back[0].cause).toEqual({ run: '[a function]' })
  })
})

describe('the text', () => {
  test('is plain JSON when there are no special values, even with exclamation marks', () => {
    const value = { a: ['!u', null, 1.5], '!b': { c: '!' } }

    expect(encode(value)).toBe(JSON.stringify(value))
    expect(encode(runInNewContext(`(${JSON.stringify(value)})`))).toBe(JSON.stringify(value))
  })

  // These texts are in databases. A change here must still read the old ones.
  test.each([
    [undefined, '!"!u"'],
    [[Number.NaN, -Infinity, -0], '!["!nNaN","!n-Infinity","!n-0"]'],
    [{ n: 12n, s: '!x' }, '!{"n":"!i12","s":"!!x"}'],
    [[new Date(0), new Date(Number.NaN)], '!["!d1970-01-01T00:00:00.000Z","!d"]'],
    [new Uint8Array([1, 2]), '!"!bAQI="'],
    [new Map([['a', 1]]), '!["!m","a",1]'],
    [new Set(['a', 1]), '!["!s","a",1]'],
    [withoutStack(new TypeError('x')), '!["!e",{"name":"TypeError","message":"x"}]'],
  ])('of %o is as it always was', (value, text) => {
    expect(encode(value)).toBe(text)
    expect(decode(text)).toEqual(value)
  })

  test('must be text to be read', () => {
    expect(() => decode(undefined as never)).toThrow(
      new TypeError('codec: text must be a string, got undefined'),
    )
  })
})

describe('whatever the value', () => {
  const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', '!u', '!m', 'toJSON', '0', 'a.b'))
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('!', '!u', '!m', '!s', '!e', '!!', '\u0000', '\ud800'),
    fc.double(),
    fc.integer(),
    fc.constantFrom(null, undefined, true, false, Number.NaN, -0, Infinity, -Infinity),
    fc.bigInt(),
    fc.date(),
    fc.uint8Array({ maxLength: 20 }),
  )
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 5 }),
      fc
        .array(fc.tuple(key, tie('tree')), { maxLength: 5 })
        .map((entries) => Object.fromEntries(entries)),
      fc.array(fc.tuple(tie('tree'), tie('tree')), { maxLength: 3 }).map((m) => new Map(m)),
      fc.array(tie('tree'), { maxLength: 4 }).map((s) => new Set(s)),
      fc
        .tuple(fc.string(), tie('tree'))
        .map(([message, cause]) => withoutStack(new RangeError(message, { cause }))),
    ),
  }))

  test('it comes back equal, as text without control characters that is written again alike', () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = encode(value)
        const back = decode(text)

        expect(model(back)).toEqual(model(value))
        expect(encode(back)).toBe(text)
        // oxlint-disable-next-line no-control-regex -- they are what must not occur
        expect(text).not.toMatch(/[\u0000-\u001f]|[\ud800-\udbff](?![\udc00-\udfff])/)
      }),
      { numRuns: 1000 },
    )
  })

  test('one bad leaf planted in it is named by its exact path', () => {
    const named = fc.constantFrom(
      ['price', '.price'],
      ['ærø_1', '.ærø_1'],
      ['$', '.$'],
      ['__proto__', '.__proto__'],
      ['unit price', '["unit price"]'],
      ['a.b', '["a.b"]'],
      ['0', '["0"]'],
      ['', '[""]'],
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('key', 'index', 'map', 'set'), named, tree), {
          maxLength: 8,
        }),
        (steps) => {
          let value: unknown = bad
          let path = ''
          for (const [kind, [name, written], other] of steps) {
            if (kind === 'key') {
              value = Object.fromEntries([[name, value]])
              path = written + path
            } else if (kind === 'index') {
              value = [other, value]
              path = `[1]${path}`
            } else if (kind === 'map') {
              value = new Map([[name, value]])
              path = `.get(${JSON.stringify(name)})${path}`
            } else {
              value = new Set([value])
              path = `.values()[0]${path}`
            }
          }

          expect(() => encode(value)).toThrow(
            new TypeError(`codec: cannot store a function at $${path}`),
          )
        },
      ),
      { numRuns: 500 },
    )
  })

  test('reading junk gives a value or an error of the codec, and touches no prototype', () => {
    const junk = fc.oneof(
      fc.string(),
      fc.json(),
      fc.tuple(fc.constant('!'), fc.json()).map((parts) => parts.join('')),
      fc.tuple(tree, fc.nat(), fc.string({ maxLength: 2 })).map(([value, at, patch]) => {
        const text = encode(value)
        const cut = at % (text.length + 1)
        return text.slice(0, cut) + patch + text.slice(cut + 1)
      }),
    )
    fc.assert(
      fc.property(junk, (text) => {
        expect(readingError(text) ?? 'codec: fine').toMatch(/^codec: /)
        expect(Object.keys(Object.prototype)).toEqual([])
      }),
      { numRuns: 1000, examples: [['~x']] },
    )
  })
})

function bad(): void {}

/** The message of the `SyntaxError` that reading this gives; any other error is a failed test. */
function readingError(text: string): string | undefined {
  try {
    decode(text)
    return undefined
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}

function nest(levels: number, leaf: unknown): unknown {
  let value = leaf
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

function withoutStack(error: Error): Error {
  delete error.stack
  return error
}

/** Another way to write a value, which distinguishes everything that the codec must. */
function model(value: unknown): unknown {
  if (typeof value === 'number') return ['number', Object.is(value, -0) ? '-0' : String(value)]
  if (typeof value !== 'object' || value === null) return [typeof value, String(value)]
  if (Array.isArray(value)) return ['array', Array.from(value, model)]
  if (value instanceof Date) return ['date', String(value.getTime())]
  if (value instanceof Uint8Array) return ['bytes', value.join()]
  if (value instanceof Map) return ['map', [...value].map(model)]
  if (value instanceof Set) return ['set', [...value].map(model)]
  if (value instanceof Error) return ['error', value.name, value.message, model(value.cause)]
  return ['object', Object.entries(value).map(([key, member]) => [key, model(member)])]
}

/** Gives an object a `toJSON` that is not enumerable. */
function hidden(target: object): object {
  return Object.defineProperty(target, 'toJSON', { value: () => 'something else' })
}

describe('a toJSON of a value', () => {
  test.each([
    ['an object', hidden({ a: '!x' }), { a: '!x' }],
    ['an array', hidden([1, '!2']), [1, '!2']],
    ['a part', { list: [hidden({ a: 1 })] }, { list: [{ a: 1 }] }],
    ['an odd object', hidden(JSON.parse('{"__proto__": "!x"}') as object), { ['__proto__']: '!x' }],
    ['a list with a named one', Object.assign([1], { toJSON: () => 'something else' }), [1]],
  ])('is not called when it is that of %s', (_, value, meant) => {
    expect(encode(value)).toBe(encode(meant))
    expect(decode(encode(value))).toEqual(meant)
  })

  test('is refused like any function when it is an ordinary member', () => {
    expect(() => encode({ toJSON: () => 1 })).toThrow('cannot store a function at $.toJSON')
  })

  test('is kept when it is data', () => {
    expect(decode(encode({ toJSON: 'yes' }))).toEqual({ toJSON: 'yes' })
  })
})

test('an object without a prototype comes back as a plain one', () => {
  const bare: object = Object.assign(Object.create(null) as object, { a: 1 })

  expect(Object.getPrototypeOf(decode(encode(bare)))).toBe(Object.prototype)
})
