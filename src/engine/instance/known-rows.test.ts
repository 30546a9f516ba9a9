import { expect, test } from 'vitest'

import { KnownRows } from './known-rows.ts'

test('a row is new once', () => {
  const known = new KnownRows()

  expect([known.add(1), known.add(1), known.add(2)]).toEqual([true, false, true])
})

test('a row that was deleted is remembered while a read is under way that may bring it', () => {
  const known = new KnownRows()
  known.add(1)
  const firstDone = known.reading()
  const secondDone = known.reading()

  known.deleted([1])
  firstDone()
  expect(known.add(1)).toBe(false)
  secondDone()
  expect(known.add(1)).toBe(true)
})

test('a row that is deleted while no read is under way is forgotten at once', () => {
  const known = new KnownRows()
  known.add(1)

  known.deleted([1])

  expect(known.add(1)).toBe(true)
})
