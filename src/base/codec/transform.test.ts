import { createSecretKey, randomBytes } from 'node:crypto'

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { decode, encode } from './codec.ts'
import { compression, type CompressionOptions } from './compression.ts'
import { encryption } from './encryption.ts'
import { isWrapped, type Transform, TransformChain, whyUnreadable } from './transform.ts'

const [old, young] = [
  { id: '2025', key: new Uint8Array(32).fill(1) },
  { id: '2026', key: new Uint8Array(32).fill(2) },
]

const long = JSON.stringify('holdfast '.repeat(1_000))

function chainOf(...transforms: Transform[]): TransformChain {
  return new TransformChain(transforms)
}

const ALGORITHMS = ['deflate', 'gzip', 'brotli'] as const

const chains = fc.oneof(
  fc.constant([] as Transform[]),
  fc.constantFrom(...ALGORITHMS).map((algorithm) => [compression({ algorithm, threshold: 0 })]),
  fc.constant([encryption({ keys: [young] })]),
  fc
    .record({ algorithm: fc.constantFrom(...ALGORITHMS), threshold: fc.nat(200) })
    .map((options: CompressionOptions) => [compression(options), encryption({ keys: [young] })]),
  fc.constant([encryption({ keys: [young] }), compression({ threshold: 0 })]),
)

const values = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: false,
  withNullPrototype: false,
})

describe('a chain of transforms', () => {
  test('any value comes back through any chain, without a control character on the way', () => {
    fc.assert(
      fc.property(values, chains, fc.string(), (value, transforms, about) => {
        const chain = new TransformChain(transforms)
        const text = encode(value)

        const wrapped = chain.wrap(text, about)

        // oxlint-disable-next-line no-control-regex -- that is what is looked for
        expect(wrapped).not.toMatch(/[\x00-\x1f\p{Surrogate}]/u)
        expect(chain.unwrap(wrapped, about)).toBe(text)
        expect(decode(chain.unwrap(wrapped, about))).toStrictEqual(decode(text))
      }),
    )
  })

  test('what is cut off or changed is never read as something else', () => {
    const chain = chainOf(compression({ threshold: 0 }), encryption({ keys: [young] }))
    const wrapped = chain.wrap(long, 'a')
    const start = wrapped.indexOf(':') + 1
    fc.assert(
      fc.property(
        fc.integer({ min: start, max: wrapped.length - 1 }),
        fc.constantFrom('A', 'z', '0', '/', ''),
        fc.boolean(),
        (at, letter, cuts) => {
          const changed = cuts
            ? wrapped.slice(0, at)
            : `${wrapped.slice(0, at)}${letter}${wrapped.slice(at + 1)}`
          fc.pre(changed !== wrapped)
          const read = chain.unwrap(changed, 'a')

          // The last letter of base64 may have bits that say nothing.
          if (read === long) return
          expect(isWrapped(read)).toBe(true)
          expect(() => decode(read)).toThrow(
            /^codec: cannot read a stored value: it (is|cannot|was)/,
          )
        },
      ),
    )
  })

  test('text that no transform changes stays as it is', () => {
    const chain = chainOf(compression())

    expect(chain.wrap('{"a":1}', 'x')).toBe('{"a":1}')
    expect(chain.unwrap('{"a":1}', 'x')).toBe('{"a":1}')
  })

  test('what was stored before, or with another chain, is still read', () => {
    const before = chainOf(compression({ algorithm: 'brotli' }))
    const after = chainOf(compression(), encryption({ keys: [young] }))

    expect(after.unwrap(before.wrap(long, 'x'), 'x')).toBe(long)
    expect(after.unwrap(long, 'x')).toBe(long)
  })

  test('text that cannot be read is stored again unchanged', () => {
    const wrapped = chainOf(encryption({ keys: [young] })).wrap(long, 'x')
    const other = chainOf(encryption({ keys: [old] }))
    const unread = other.unwrap(wrapped, 'x')

    expect(unread).not.toBe(wrapped)
    expect(other.unwrap(unread, 'x')).toBe(unread)
    expect(other.wrap(unread, 'x')).toBe(wrapped)
  })

  test('without a codec the error says what wrote it and what to do', () => {
    const wrapped = chainOf(compression(), encryption({ keys: [young] })).wrap(long, 'x')

    expect(() => decode(wrapped)).toThrow(
      'codec: cannot read a stored value: it was written with a codec (z, aes), and this process has none; pass the same codec to open() or connect()',
    )
  })

  test('a transform that is not in the chain is named', () => {
    const wrapped = chainOf(encryption({ keys: [young] })).wrap(long, 'x')

    expect(whyUnreadable(chainOf(compression()).unwrap(wrapped, 'x'))).toBe(
      'it was written with the transform "aes", and the codec of this process has "z"; add it to codec',
    )
  })

  test('a transform that returns no bytes is refused', () => {
    const broken = {
      kind: 'transform',
      name: 'b',
      encode: () => 'text' as never,
      decode: (b: Uint8Array) => b,
    } as const

    expect(() => chainOf(broken).wrap('1', 'x')).toThrow(
      'transform "b" must return bytes or undefined',
    )
  })
})

describe('compression', () => {
  test.each(ALGORITHMS)('%s makes long text shorter, and leaves short text alone', (algorithm) => {
    const chain = chainOf(compression({ algorithm }))

    expect(chain.wrap(long, 'x').length).toBeLessThan(long.length / 10)
    expect(chain.wrap('"short"', 'x')).toBe('"short"')
  })

  test('text that would not get shorter stays as it is', () => {
    const noise = JSON.stringify(randomBytes(5_000).toString('base64'))

    expect(chainOf(compression()).wrap(noise, 'x')).toBe(noise)
  })

  test('with a threshold of Infinity it reads and does not write', () => {
    const reads = chainOf(compression({ threshold: Infinity }))

    expect(reads.wrap(long, 'x')).toBe(long)
    expect(reads.unwrap(chainOf(compression()).wrap(long, 'x'), 'x')).toBe(long)
  })

  test('an unknown option and an unknown algorithm are refused', () => {
    expect(() => compression({ algorithm: 'zip' as never })).toThrow(
      `compression: algorithm must be one of 'deflate', 'gzip', 'brotli', got "zip"`,
    )
    expect(() => compression({ treshold: 1 } as never)).toThrow('did you mean "threshold"?')
  })
})

describe('encryption', () => {
  test('nothing readable is left, and no two texts are alike', () => {
    const chain = chainOf(encryption({ keys: [young] }))
    const [a, b] = [chain.wrap('"a secret"', 'x'), chain.wrap('"a secret"', 'x')]

    expect(a).not.toBe(b)
    const bytes = Buffer.from(a.slice(a.indexOf(':') + 1), 'base64').toString('latin1')
    expect(bytes).not.toContain('secret')
    expect(bytes).toContain('2026')
  })

  test('after a rotation the first key writes, and the others are still read', () => {
    const before = chainOf(encryption({ keys: [old] }))
    const after = chainOf(encryption({ keys: [young, old] }))

    expect(after.unwrap(before.wrap(long, 'x'), 'x')).toBe(long)
    expect(whyUnreadable(before.unwrap(after.wrap(long, 'x'), 'x'))).toBe(
      'it is encrypted with the key "2026", and the keys of this process are "2025"; add it to the keys of encryption()',
    )
  })

  test('a text cannot be moved to another place', () => {
    const chain = chainOf(encryption({ keys: [young] }))

    expect(whyUnreadable(chain.unwrap(chain.wrap(long, 'state a'), 'state b'))).toContain(
      'it cannot be decrypted with the key "2026": it is damaged, was moved here from another place',
    )
  })

  test('another key with the same id does not read it', () => {
    const wrapped = chainOf(encryption({ keys: [young] })).wrap(long, 'x')
    const other = chainOf(encryption({ keys: [{ ...old, id: young.id }] }))

    expect(whyUnreadable(other.unwrap(wrapped, 'x'))).toContain('another key of this id')
  })

  test('with decryptOnly it reads and does not write', () => {
    const reads = chainOf(encryption({ keys: [young], decryptOnly: true }))

    expect(reads.wrap(long, 'x')).toBe(long)
    expect(reads.unwrap(chainOf(encryption({ keys: [young] })).wrap(long, 'x'), 'x')).toBe(long)
  })

  test('a key is bytes, base64 or a key object', () => {
    const bytes = randomBytes(32)
    const forms = [bytes, new Uint8Array(bytes), bytes.toString('base64'), createSecretKey(bytes)]
    const [first] = forms.map((key) => chainOf(encryption({ keys: [{ id: 'k', key }] })))
    const wrapped = first!.wrap(long, 'x')

    for (const key of forms) {
      expect(chainOf(encryption({ keys: [{ id: 'k', key }] })).unwrap(wrapped, 'x')).toBe(long)
    }
  })

  test.each([
    [undefined, 'keys must have at least one key'],
    [[], 'keys must have at least one key'],
    [[{ id: '', key: young.key }], 'keys[0]: id must be a string of 1 to 100 bytes'],
    [[young, { ...old, id: young.id }], 'keys must have different ids'],
    [[{ id: 'k', key: 'c2VjcmV0' }], 'the key "k" must be 32 bytes, or 32 bytes in base64, got 6'],
    [[{ id: 'k', key: 7 }], 'the key "k" must be 32 bytes, or 32 bytes in base64, got number'],
  ])('keys %# are refused, and never shown', (keys, message) => {
    const refused = (): unknown => encryption({ keys: keys as never })

    expect(refused).toThrow(message)
    expect(refused).not.toThrow(/c2VjcmV0|secret/)
  })
})
