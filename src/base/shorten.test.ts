import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { shorten } from './shorten.ts'

test('a text that fits stays as it is', () => {
  expect(shorten('x'.repeat(100), 100)).toBe('x'.repeat(100))
})

test('a text that does not fit says how much is left out', () => {
  expect(shorten('x'.repeat(101), 100)).toBe(`${'x'.repeat(60)}… (41 more characters)`)
})

test('the result fits, is stable, and splits no surrogate pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 100, maxLength: 200 }), (text) => {
      const short = shorten(text, 100)
      expect(short.length).toBeLessThanOrEqual(100)
      expect(shorten(short, 100)).toBe(short)
      expect(short).not.toMatch(/\p{Surrogate}/u)
    }),
  )
})
