import { expect, test } from 'vitest'

import type { Codec } from './codec.ts'
import { resolveCodec } from './codec-option.ts'
import { compression } from './compression.ts'
import { encryption } from './encryption.ts'

const keys = [{ id: 'k', key: new Uint8Array(32) }]
const own: Codec = { encode: JSON.stringify, decode: (data) => JSON.parse(String(data)) }

test('a codec, a transform, or a list of them is accepted', () => {
  expect(resolveCodec(own, 'codec')).toEqual({ codec: own, chain: undefined })
  expect(resolveCodec(compression(), 'codec').codec).toBeUndefined()
  expect(resolveCodec([own, compression(), encryption({ keys })], 'codec').codec).toBe(own)
  expect(resolveCodec([], 'codec')).toEqual({ codec: undefined, chain: undefined })
})

test.each([
  [undefined, 'codec must be a codec, got undefined'],
  [[compression(), own], 'codec[1] must be a transform, such as compression() or encryption()'],
  [[compression(), compression()], 'codec[1]: the transform "z" is there already'],
  [[{ encode() {} }], 'codec[0] must be a codec, but it has no method decode()'],
  [{ ...compression(), name: 'My Zip' }, 'codec: name must have 1 to 20 lower-case letters'],
])('%# is refused', (value, message) => {
  expect(() => resolveCodec(value, 'codec')).toThrow(message)
})
