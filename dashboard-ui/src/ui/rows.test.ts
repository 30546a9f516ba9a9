import { expect, test } from 'vitest'

import { moveFor } from './rows.ts'
import { visibleRange } from './virtual-rows.tsx'

test.each([
  ['ArrowDown', 3, 4],
  ['ArrowDown', 9, 9],
  ['ArrowUp', 0, 0],
  ['PageDown', 3, 7],
  ['PageUp', 3, 0],
  ['Home', 5, 0],
  ['End', 5, 9],
  ['a', 5, undefined],
])('%s on row %d of ten leads to %s', (key, from, to) => {
  expect(moveFor(key, from, 10, 4)).toBe(to)
})

test('of 20,000 rows, those in sight and a few around them are drawn', () => {
  expect(visibleRange(300_000, 640, 32, 20_000)).toEqual({ first: 9367, end: 9403 })
  expect(visibleRange(0, 640, 32, 3)).toEqual({ first: 0, end: 3 })
  expect(visibleRange(9e9, 640, 32, 20)).toEqual({ first: 20, end: 20 })
})
