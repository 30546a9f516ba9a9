import { assert, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { toJson } from './plain-json.ts'
import { safeJson, safeLines, safeText } from './safe-text.ts'
import { fit, textWidth } from './text-width.ts'

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const DANGEROUS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/

test('whatever text is given, nothing in it can control a terminal', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(safeText(text)).not.toMatch(DANGEROUS)
      expect(toJson(text)).not.toMatch(DANGEROUS)
    }),
  )
})

test('plain text and text of any language stay as they are', () => {
  for (const text of ['order-7', 'Bücher für Łukasz', '注文', 'طلب', '👩‍👩‍👧 ok']) {
    expect(safeText(text)).toBe(text)
  }
})

test('escapes can be read', () => {
  expect(safeText('a\u001b[2Jb\nc\u009b')).toBe('a\\u001b[2Jb\\nc\\u009b')
  expect(safeLines('a\r\nb\u0007')).toBe('a\nb\\u0007')
})

test('escaped JSON means the same', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(JSON.parse(safeJson(JSON.stringify([text], undefined, 2)))).toEqual([text])
    }),
  )
})

test('values that JSON lacks are shown in a form that it has', () => {
  const value = {
    at: new Date(0),
    big: 10n ** 20n,
    map: new Map([['a', new Set([1])]]),
    bytes: new Uint8Array([1, 2]),
    none: undefined,
    infinite: Infinity,
  }

  expect(JSON.parse(toJson(value))).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    big: '100000000000000000000',
    map: [['a', [1]]],
    bytes: 'AQI=',
    infinite: 'Infinity',
  })
  expect(toJson(undefined)).toBe('null')
})

test('text is cut where a character ends, by the columns that it takes', () => {
  expect(textWidth('注文')).toBe(4)
  expect(fit('注文番号', 5)).toBe('注文…')
  expect(fit('order', 5)).toBe('order')
  expect(fit('orders', 5)).toBe('orde…')
})
