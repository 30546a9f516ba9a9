import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { BatchSplitter } from './batch-splitter.ts'

/** Sends a batch to a call that fails for all items when it meets a bad one. */
function sendAll(batch: readonly number[], isBad: (item: number) => boolean) {
  const calls: (readonly number[])[] = []
  const done: number[] = []
  const rejected: number[] = []
  const parts = new BatchSplitter(batch)
  for (const part of parts) {
    calls.push(part)
    if (!part.some(isBad)) done.push(...part)
    else if (!parts.split(part)) rejected.push(...part)
  }
  return { calls, done, rejected }
}

describe('a batch splitter', () => {
  test('a batch that succeeds is sent once, whole', () => {
    const batch = [1, 2, 3]

    expect(sendAll(batch, () => false).calls).toEqual([batch])
  })

  test('a rejected batch is halved until the item to blame is alone', () => {
    const { calls, done, rejected } = sendAll([1, 2, 3, 4, 5], (item) => item === 4)

    expect(calls).toEqual([[1, 2, 3, 4, 5], [1, 2], [3, 4, 5], [3], [4, 5], [4], [5]])
    expect(done).toEqual([1, 2, 3, 5])
    expect(rejected).toEqual([4])
  })

  test('an item alone cannot be split', () => {
    const parts = new BatchSplitter([1])

    expect(parts.split([1])).toBe(false)
    expect(parts.split([])).toBe(false)
    expect([...parts]).toEqual([[1]])
  })

  test('a part that is sent again comes before the others', () => {
    const parts = new BatchSplitter([1, 2, 3, 4])
    const calls: (readonly number[])[] = []
    for (const part of parts) {
      calls.push(part)
      if (calls.length === 1) parts.split(part)
      if (calls.length === 2) parts.again([2])
    }

    expect(calls).toEqual([[1, 2, 3, 4], [1, 2], [2], [3, 4]])
  })

  test('what is not sent can be taken, in order; then no part is left', () => {
    const parts = new BatchSplitter([1, 2, 3, 4, 5, 6, 7])
    let rest: readonly number[] = []
    let calls = 0
    for (const part of parts) {
      calls++
      if (part.length > 2) parts.split(part)
      else rest = parts.takeRest()
    }

    expect(calls).toBe(3)
    expect(rest).toEqual([2, 3, 4, 5, 6, 7])
    expect(parts.takeRest()).toEqual([])
  })

  test('whichever items are bad, exactly those are rejected, and the others are done in order', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), (bad) => {
        const items = bad.map((_, i) => i)
        const { done, rejected } = sendAll(items, (item) => bad[item]!)

        expect(done).toEqual(items.filter((item) => !bad[item]))
        expect(rejected).toEqual(items.filter((item) => bad[item]))
      }),
    )
  })
})
