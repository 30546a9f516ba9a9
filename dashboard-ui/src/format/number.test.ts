import { expect, test } from 'vitest'

import { formatBytes, formatCompact, formatCount, formatRate, plural } from './number.ts'

test.each([
  [7, '7'],
  [999, '999'],
  [999.6, '1.0k'],
  [1234, '1.2k'],
  [38_200, '38k'],
  [999_600, '1.0M'],
  [1_204_311, '1.2M'],
  [2_500_000_000, '2.5G'],
])('%d is compact as %s', (n, text) => {
  expect(formatCompact(n)).toBe(text)
})

test.each([
  [312, '312 B'],
  [4200, '4.1 KB'],
  [18_900_000, '18 MB'],
])('%d bytes read as %s', (n, text) => {
  expect(formatBytes(n)).toBe(text)
})

test.each([
  [0, '0/s'],
  [0.01, '<0.1/s'],
  [0.44, '0.4/s'],
  [12.3, '12/s'],
  [3100, '3.1k/s'],
])('a rate of %d reads as %s', (n, text) => {
  expect(formatRate(n)).toBe(text)
})

test('counts have separators and the right noun', () => {
  expect(formatCount(1_204_311)).toBe('1,204,311')
  expect(plural(1, 'instance')).toBe('1 instance')
  expect(plural(0, 'reply', 'replies')).toBe('0 replies')
})
