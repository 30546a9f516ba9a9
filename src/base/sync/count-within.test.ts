import { expect, test } from 'vitest'
import { countWithin } from './count-within.ts'

const size = (max: number) => ({ max, of: (entry: number) => entry })

test('all entries fit where nothing bounds them', () => {
  expect(countWithin([1, 2, 3], Infinity)).toBe(3)
})

test('no more entries than the limit go together', () => {
  expect(countWithin([1, 2, 3], 2)).toBe(2)
})

test('the entry that exceeds a bound is left for later', () => {
  expect(countWithin([4, 4, 4], 10, [size(8)])).toBe(2)
  expect(countWithin([4, 4, 4], 10, [size(7)])).toBe(1)
})

test('the tightest of several bounds counts', () => {
  expect(countWithin([4, 4, 4], 10, [size(100), size(8)])).toBe(2)
  expect(countWithin([4, 4, 4], 10, [size(8), size(100)])).toBe(2)
})

test('an entry that is too large by itself goes alone', () => {
  expect(countWithin([40, 4], 10, [size(8)])).toBe(1)
})

test('of no entries none go', () => {
  expect(countWithin([], 10, [size(8)])).toBe(0)
})
