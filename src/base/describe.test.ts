import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { describe } from './describe.ts'

class Order {
  readonly items = []
}

test.each<[string, unknown]>([
  ['"hello"', 'hello'],
  ['"two\\nlines"', 'two\nlines'],
  ['12', 12],
  ['NaN', NaN],
  ['-Infinity', -Infinity],
  ['12n', 12n],
  ['true', true],
  ['undefined', undefined],
  ['null', null],
  ['Symbol(id)', Symbol('id')],
  ['a function (Order)', Order],
  ['a function', () => {}],
  ['an array of 3', [1, 2, 3]],
  ['an object', { a: 1 }],
  ['an object', Object.create(null)],
  ['an object', { constructor: null }],
  [
    'an object',
    new (class {
      readonly items = []
    })(),
  ],
  ['an Order', new Order()],
  ['a Map', new Map()],
  ['a Uint8Array', new Uint8Array()],
  ['a TypeError', new TypeError('no')],
])('%s is how that value is described', (text, value) => {
  expect(describe(value)).toBe(text)
})

test('a long text is cut', () => {
  expect(describe('x'.repeat(1_000))).toBe(`"${'x'.repeat(80)}…"`)
})

test('a class whose static name is not a string is described without it', () => {
  class Odd {
    static name(): void {}
    readonly items = []
  }

  expect(describe(Odd)).toBe('a function')
  expect(describe(new Odd())).toBe('an object')
})

test('a value that throws when it is read is still described', () => {
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const revokedFunction = Proxy.revocable(() => {}, {})
  revokedFunction.revoke()
  const hostile = {
    get constructor(): never {
      throw new Error('do not look')
    },
  }

  expect(describe(revoked.proxy)).toBe('an object that cannot be read')
  expect(describe(revokedFunction.proxy)).toBe('a function that cannot be read')
  expect(describe(hostile)).toBe('an object that cannot be read')
})

test('anything is described in one short line', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
  })
  fc.assert(
    fc.property(anything, (value) => {
      const text = describe(value)

      expect(text).not.toContain('\n')
      expect(text.length).toBeLessThan(1_000)
    }),
  )
})
