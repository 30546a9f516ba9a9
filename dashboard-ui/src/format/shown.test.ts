import { expect, test } from 'vitest'

import type { Shown } from '../../../src/dashboard/api.ts'
import { fieldsOf, preview, untagged } from './shown.ts'

test.each<[Shown, string]>([
  ['a "b"', '"a \\"b\\""'],
  [[1, true, null], '[1, true, null]'],
  [{ id: 7, 'odd key': [] }, '{ id: 7, "odd key": [] }'],
  [{}, '{}'],
  [{ $: 'date', v: '2026-11-18T05:00:00.000Z' }, '2026-11-18T05:00:00.000Z'],
  [{ $: 'bigint', v: '12' }, '12n'],
  [{ $: 'bytes', v: 'AAEC', length: 3 }, '3 bytes'],
  [{ $: 'map', v: [['a', 1]] }, 'Map { "a" => 1 }'],
  [{ $: 'set', v: [1, 2] }, 'Set { 1, 2 }'],
  [{ $: 'object', v: [['$', 1]] }, '{ "$": 1 }'],
  [{ $: 'error', name: 'RangeError', message: 'too far', v: {} }, 'RangeError: too far'],
  [{ $: 'undefined' }, 'undefined'],
])('%j is previewed as %s', (value, text) => {
  expect(preview(value)).toBe(text)
})

test('a preview is cut, and does not walk through a long list', () => {
  const text = preview(
    Array.from({ length: 100_000 }, (_, i) => i),
    20,
  )

  expect(text).toBe('[0, 1, 2, 3, 4, 5, …')
})

test('fields are read through tags', () => {
  expect(untagged({ $: 'date', v: '2026-11-18T05:00:00.000Z' })).toBe('2026-11-18T05:00:00.000Z')
  expect(untagged({ $: 'undefined' })).toBeUndefined()
  expect(fieldsOf({ $: 'object', v: [['$', 1]] })).toEqual({ $: 1 })
  expect(fieldsOf([1])).toEqual({})
})
