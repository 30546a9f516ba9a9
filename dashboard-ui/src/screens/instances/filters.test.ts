import { expect, test } from 'vitest'

import { apiFilter, apiQuery, isNarrow, readFilters, withLabel, writeFilters } from './filters.ts'

const NOW = Date.UTC(2026, 10, 18, 5, 12, 44)

test('a filter survives the way through an address', () => {
  const text =
    'workflow=order&version=2&status=running&status=failed&label=tenant%3Dac%3Dme&id=ord&parent=p+1&since=1h&order=oldest'

  const filters = readFilters(new URLSearchParams(text))

  expect(writeFilters(filters).toString()).toBe(text)
  expect(filters.labels).toEqual(['tenant=ac=me'])
})

test('what an address cannot mean is left out, and named', () => {
  const filters = readFilters(new URLSearchParams('status=happy&since=9y&label=none&order=best'))

  expect(writeFilters(filters).toString()).toBe('')
  expect(isNarrow(filters)).toBe(false)
  expect(filters.leftOut).toEqual(['status=happy', 'since=9y', 'label=none', 'order=best'])
})

test('a label takes the place of the one with its name', () => {
  expect(withLabel(['n=1', 'nn=1'], 'n=2')).toEqual(['nn=1', 'n=2'])
})

test('an order alone does not narrow the list', () => {
  expect(isNarrow(readFilters(new URLSearchParams('order=oldest')))).toBe(false)
  expect(isNarrow(readFilters(new URLSearchParams('since=1h')))).toBe(true)
})

test('a relative time becomes a minute, so that the address of the list stays the same for a while', () => {
  const filters = readFilters(new URLSearchParams('since=1h'))

  expect(apiQuery(filters, NOW)['createdAfter']).toBe('2026-11-18T04:12:00.000Z')
})

test('a bulk call gets the labels of the list, and nothing that was not asked for', () => {
  const filters = readFilters(new URLSearchParams('status=failed&label=tenant%3Dac%3Dme'))

  expect(apiFilter(filters, NOW)).toEqual({ status: ['failed'], label: ['tenant=ac=me'] })
})
