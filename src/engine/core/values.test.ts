import { describe, expect, test } from 'vitest'

import { type Codec, encode } from '../../base/codec/codec.ts'
import { failure } from '../../base/errors.ts'
import { valuesOf } from './values.ts'

const Declined = failure<{ code: string }>('DeclinedInValuesTest')

const bytes: Codec = {
  encode: (value) => new TextEncoder().encode(JSON.stringify(value)),
  decode: (data) => JSON.parse(new TextDecoder().decode(data as Uint8Array)) as unknown,
}
const text: Codec = {
  encode: (value) => `\x00\x1e\x1f\ud800\n${JSON.stringify(value)}`,
  decode: (data) => JSON.parse((data as string).slice(5)) as unknown,
}

/** Writes something else each time. */
let nonce = 0
const hidden: Codec = {
  encode: (value) => Buffer.from(`${++nonce} ${JSON.stringify(value)}`).toString('hex'),
  decode: (data) => JSON.parse(/ (.*)/.exec(Buffer.from(data as string, 'hex').toString())![1]!),
}

describe('values', () => {
  test('without a codec they are written by our own', () => {
    const values = valuesOf(undefined)
    const value = { when: new Date(0), big: 1n }

    expect(values.encode(value, 'x')).toBe(encode(value))
    expect(values.value(encode(value))).toEqual(value)
  })

  test.each([
    ['bytes', bytes],
    ['text', text],
  ])('a value that a codec writes as %s comes back, and has no control character', (_, codec) => {
    const values = valuesOf(codec)
    const value = { a: [1, 'ä'], b: null }

    const written = values.encode(value, 'x')

    // oxlint-disable-next-line no-control-regex -- that is what is looked for
    expect(written).not.toMatch(/[\x00-\x1f\p{Surrogate}]/u)
    expect(values.value(written)).toEqual(value)
  })

  test('a codec is given exactly the bytes it wrote', () => {
    const seen: Uint8Array[] = []
    const values = valuesOf({
      encode: () => new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4),
      decode: (data) => seen.push(data as Uint8Array),
    })

    values.value(values.encode('anything', 'x'))

    expect(seen.map((data) => [...data])).toEqual([[1, 2, 3]])
  })

  test('values written before a codec was set are still read', () => {
    expect(valuesOf(bytes).value(encode({ old: true }))).toEqual({ old: true })
    expect(valuesOf(bytes).value(encode('~b'))).toBe('~b')
  })

  test('a value that a codec refuses is named, with its error as cause', () => {
    const cause = new Error('no')
    const values = valuesOf({
      encode() {
        throw cause
      },
      decode: () => 1,
    })

    expect(() => values.encode(1, 'the input')).toThrow('the input: the codec failed: Error: no')
  })

  test.each([[undefined], [null], [1], [Promise.resolve('x')]])(
    'a codec that writes neither text nor bytes but %s is refused',
    (written) => {
      const values = valuesOf({ encode: () => written as unknown as string, decode: () => 1 })

      expect(() => values.encode(1, 'the input')).toThrow(
        'the input: the codec must return a string or bytes, got',
      )
    },
  )

  test('errors pass through the codec too, since their messages may be secret', () => {
    const values = valuesOf(hidden)
    const written = values.encodeError(new Declined('no cover', { code: 'x' }))

    expect(written).not.toContain('cover')
    const back = values.error(written)
    expect(back).toBeInstanceOf(Declined)
    expect(back).toMatchObject({ message: 'no cover', details: { code: 'x' } })
  })

  test('errors that were written before a codec was set are still read', () => {
    const written = valuesOf(undefined).encodeError(new Declined('no', { code: 'x' }))

    expect(valuesOf(bytes).error(written)).toBeInstanceOf(Declined)
  })

  test('of an error that the codec refuses only the name is kept', () => {
    const values = valuesOf({
      encode() {
        throw new Error('full')
      },
      decode: () => 1,
    })

    const written = values.encodeError(new RangeError('a secret'))

    expect(written).not.toContain('secret')
    const back = values.error(written)
    expect(back.name).toBe('RangeError')
    expect(back.message).toContain('could not be stored')
  })

  test('two texts of a codec that never writes the same twice are the same value', () => {
    const values = valuesOf(hidden)
    const [a, b] = [values.encode({ x: 1 }, 'x'), values.encode({ x: 1 }, 'x')]

    expect(a).not.toBe(b)
    expect(values.isSame(a, b)).toBe(true)
    expect(values.isSame(a, encode({ x: 1 }))).toBe(true)
    expect(values.isSame(a, values.encode({ x: 2 }, 'x'))).toBe(false)
  })

  test.each([
    [undefined],
    [() => {}],
    [
      {
        get message(): string {
          throw new Error('x')
        },
      },
    ],
  ])('any thrown value can be recorded', (thrown) => {
    const values = valuesOf(undefined)

    expect(values.error(values.encodeError(thrown))).toBeInstanceOf(Error)
  })
})
