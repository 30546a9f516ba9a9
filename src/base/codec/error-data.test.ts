import { runInNewContext } from 'node:vm'

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { type ErrorData, errorFromData, errorToData } from './error-data.ts'
import { MAX_MEMBER, MAX_MESSAGE, MAX_NESTED, MAX_STACK } from './error-parts.ts'
import { CancelledError, failure, TimeoutError } from '../errors.ts'

/** There and back as a database does it. */
function cross(thrown: unknown): Error {
  return errorFromData(JSON.parse(JSON.stringify(errorToData(thrown))) as ErrorData)
}

const Refused = failure<{ code: string }>('DeclinedInTest')
const LONG_LIST = Array.from({ length: 1_000_000 }, (_, i) => i)

describe('an error that crosses', () => {
  test.each([
    new Error('broken'),
    new TypeError('broken'),
    new RangeError('broken'),
    new SyntaxError('broken'),
    new ReferenceError('broken'),
    new EvalError('broken'),
    new URIError('broken'),
    new TimeoutError('broken', 5),
    new CancelledError('broken'),
  ])('comes back as what it was: $name', (error) => {
    const back = cross(error)

    expect(Object.getPrototypeOf(back)).toBe(Object.getPrototypeOf(error))
    expect(back).toEqual(error)
    expect(back.stack).toBe(error.stack)
  })

  test('comes back as its failure class with details of any kind', () => {
    const Declined = failure<{ at: Date; codes: Set<bigint>; note?: string | undefined }>(
      'Declined',
    )
    const details = { at: new Date(7), codes: new Set([1n]), note: undefined }

    const back = cross(new Declined('no', details))

    expect(back).toBeInstanceOf(Declined)
    expect(back).toHaveProperty('details', details)
  })

  test('comes back as an Error with its name when its class is not known', () => {
    class HomeMade extends Error {
      override name = 'HomeMade'
      readonly extra = 1
    }

    const back = cross(new HomeMade('x'))

    expect(Object.getPrototypeOf(back)).toBe(Error.prototype)
    expect(back.name).toBe('HomeMade')
    expect(Object.keys(back)).toEqual([])
  })

  test('is not taken for ours because it has the same name', () => {
    const foreign = new DOMException('late', 'TimeoutError')

    const back = cross(foreign)

    expect(back).not.toBeInstanceOf(TimeoutError)
    expect(back).toMatchObject({ name: 'TimeoutError', message: 'late' })
  })

  test('is not taken for a failure because it has the same name', () => {
    const Gone = failure('Gone')

    expect(cross(Object.assign(new Error('x'), { name: 'Gone' }))).not.toBeInstanceOf(Gone)
  })

  test.each(['ENOENT', 42])('keeps its code %o', (code) => {
    expect(cross(Object.assign(new Error('x'), { code }))).toHaveProperty('code', code)
  })

  test('keeps its causes, even those that are not errors', () => {
    const root = new RangeError('root', { cause: { when: new Date(3) } })

    const back = cross(new Error('top', { cause: root }))

    expect(back.cause).toBeInstanceOf(RangeError)
    expect((back.cause as Error).cause).toEqual({ when: new Date(3) })
    expect(Object.keys(back)).toEqual([])
  })

  test('keeps the errors of an AggregateError', () => {
    const back = cross(new AggregateError([new TypeError('a'), 'b'], 'all failed'))

    expect(back).toBeInstanceOf(AggregateError)
    expect((back as AggregateError).errors).toEqual([new TypeError('a'), 'b'])
  })

  test('of another realm comes back as the class of the same name', () => {
    const foreign: unknown = runInNewContext('new TypeError("far")')

    expect(cross(foreign)).toBeInstanceOf(TypeError)
  })

  test('without a stack does not get that of the place that read it', () => {
    const error = new Error('x')
    delete error.stack

    expect(cross(error).stack).toBe('Error: x')
  })

  test('can be read from the same data twice', () => {
    const data = errorToData(new (failure<unknown>('Gone'))('x', ['!', new Date(1)]))

    expect(errorFromData(data)).toEqual(errorFromData(data))
  })
})

describe('a thrown value that is not an error', () => {
  test('a string becomes the message', () => {
    expect(errorToData('oops')).toEqual({ name: 'Error', message: 'oops' })
  })

  test('an object that looks like an error gives its message, name and code', () => {
    const thrown = { name: 'PgError', message: 'no table', code: '42P01', hint: 'create it' }

    const back = cross(thrown)

    expect(back).toMatchObject({ name: 'PgError', message: 'no table', code: '42P01' })
    expect(back.cause).toEqual(thrown)
  })

  test.each([
    [undefined, 'undefined was thrown', undefined],
    [null, 'null was thrown', null],
    [7, '7 was thrown', 7],
    [{ a: 1 }, '{ a: 1 } was thrown', { a: 1 }],
    [Symbol('s'), 'Symbol(s) was thrown', '[a symbol]'],
    [Promise.resolve(), 'a Promise was thrown', '[a Promise]'],
  ])('%o is described, and kept as the cause', (thrown, message, cause) => {
    const back = cross(thrown)

    expect(back).toBeInstanceOf(Error)
    expect(back.message).toBe(message)
    expect(back.cause).toEqual(cause)
  })
})

describe('an error is always recordable', () => {
  test('details that cannot be stored are described, and the rest is kept', () => {
    const Bad = failure<object>('Bad')
    class Invoice {
      readonly total = 1
    }
    const details = {
      fine: 1,
      list: [new Invoice(), 2],
      run() {},
      get broken(): never {
        throw new Error('never read me')
      },
    }

    expect(cross(new Bad('x', details))).toHaveProperty('details', {
      fine: 1,
      list: ['[an instance of Invoice]', 2],
      run: '[a function]',
      broken: '[unreadable]',
    })
  })

  test('getters that throw are passed over', () => {
    const error = new Error('x')
    for (const key of ['stack', 'name', 'message', 'code', 'cause', 'errors']) {
      Object.defineProperty(error, key, {
        get() {
          throw new Error('no')
        },
      })
    }

    expect(errorToData(error)).toEqual({ name: 'Error', message: '', cause: '[unreadable]' })
  })

  test('a revoked proxy is recorded', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()

    expect(errorToData(proxy).name).toBe('Error')
    expect(cross(new Error('x', { cause: proxy })).cause).toBe('[unreadable]')
  })

  test('a cycle of causes ends where it closes', () => {
    const [a, b] = [new Error('a'), new Error('b')]
    a.cause = b
    b.cause = a

    const back = cross(a)

    expect((back.cause as Error).cause).toBe('[a cycle]')
  })

  test('an error in its own details ends where it closes', () => {
    const error = new (failure<{ self?: unknown }>('Selfish'))('x', {})
    error.details.self = error

    expect(cross(error)).toHaveProperty('details.self', '[a cycle]')
  })

  test('a chain of a thousand causes is cut', () => {
    let error = new Error('root')
    for (let i = 0; i < 1000; i++) error = new Error(`level ${i}`, { cause: error })

    let depth = 0
    for (let at: unknown = cross(error); at instanceof Error; at = at.cause) depth += 1

    expect(depth).toBe(16)
  })

  test('of very many errors the first hundred are kept', () => {
    const many = Array.from({ length: 300 }, (_, i) => new Error(`${i}`))

    const { errors } = cross(new AggregateError(many)) as AggregateError

    expect(errors).toHaveLength(300)
    expect(errors.filter((error) => error instanceof Error)).toHaveLength(100)
    expect(errors[100]).toBe('[too many nested errors]')
  })

  test('a huge message is cut, and the frames of its stack stay', () => {
    const data = errorToData(new Error('m'.repeat(1_000_000)))

    expect(data.message.length).toBeLessThanOrEqual(MAX_MESSAGE)
    expect(data.message).toMatch(/m… \(\d+ more characters\)$/)
    expect(data.stack!.length).toBeLessThanOrEqual(MAX_STACK)
    expect(data.stack).toContain('error-data.test.ts')
  })

  test('a huge stack is cut', () => {
    const error = new Error('x')
    error.stack = 'Error: x\n' + '    at somewhere\n'.repeat(10_000)

    expect(errorToData(error).stack!.length).toBeLessThanOrEqual(MAX_STACK)
  })

  test('errors inside an error are cut shorter, so that a hundred of them fit', () => {
    const nested = Array.from({ length: 100 }, (_, i) => new Error(`${i} ${'m'.repeat(100_000)}`))
    const error = new AggregateError(nested)

    const data = errorToData(error)

    expect(JSON.stringify(data).length).toBeLessThan(MAX_MEMBER + MAX_STACK + 1_000)
    const { errors } = errorFromData(data) as AggregateError
    expect(errors).toHaveLength(100)
    for (const { message, stack } of errors as Error[]) {
      expect(message.length).toBeLessThanOrEqual(MAX_NESTED)
      expect(stack).toContain('error-data.test.ts')
    }
  })

  test.each([
    ['a cause', () => new Error('x', { cause: 'c'.repeat(2_000_000) })],
    ['a cause in a cause', () => new Error('x', { cause: new Error('y', { cause: LONG_LIST }) })],
    ['details', () => new Refused('x', { code: 'c'.repeat(2_000_000) })],
    ['what was thrown', () => ({ message: 'x', data: LONG_LIST })],
  ])('a note replaces %s that is huge', (_, make) => {
    const data = errorToData(make())

    expect(JSON.stringify(data).length).toBeLessThan(MAX_STACK + 2_000)
    expect(data.message).toBe('x')
    expect(JSON.stringify(data)).toMatch(/"\[\d+ characters of JSON, more than an error keeps\]"/)
  })

  test('whatever is thrown gives JSON that gives an error, and the same JSON again', () => {
    const thrown = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
      fc
        .tuple(fc.string(), fc.anything(), fc.anything(), fc.anything())
        .map(([message, cause, code, name]) =>
          Object.assign(new Error(message, { cause }), { code, name }),
        ),
    )
    fc.assert(
      fc.property(thrown, (value) => {
        const data = errorToData(value)
        const json = JSON.stringify(data)
        const back = errorFromData(JSON.parse(json) as ErrorData)

        expect(back).toBeInstanceOf(Error)
        expect(JSON.stringify(errorToData(back))).toBe(json)
      }),
    )
  })
})

test.each([null, 5, [], {}, { name: 1, message: {} }, { fields: null, failure: true }])(
  'damaged data %o still gives an error',
  (data) => {
    expect(errorFromData(data as unknown as ErrorData)).toBeInstanceOf(Error)
  },
)

test('a value written by a newer version is an error that says so', () => {
  const data = { name: 'Gone', message: 'x', failure: true, details: '!future' } as const

  expect(() => errorFromData(data)).toThrow(
    'codec: unknown tag "!future"; was it written by a newer version?',
  )
})
