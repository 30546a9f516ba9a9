import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionOf } from './partition-of.ts'

test('keys keep their partitions forever', () => {
  // Never change these: messages with these keys are stored in these partitions.
  const pinned = [
    ['', 11, 11],
    ['a', 3, 435],
    ['b', 2, 562],
    ['order-1', 12, 668],
    ['order-2', 0, 704],
    ['customer-42', 12, 332],
    ['é', 7, 711],
    ['日本', 15, 287],
    ['🙂', 10, 330],
    ['x'.repeat(500), 6, 198],
  ] as const

  expect(pinned.map(([key]) => [key, partitionOf(key, 16), partitionOf(key, 1024)])).toEqual(pinned)
})

test('every key has a partition, the same each time', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 1024 }), (key, partitions) => {
      const partition = partitionOf(key, partitions)
      expect(Number.isInteger(partition) && partition >= 0 && partition < partitions).toBe(true)
      expect(partitionOf(key, partitions)).toBe(partition)
    }),
  )
})

test('similar keys are spread over all partitions', () => {
  for (const partitions of [4, 16, 100]) {
    const counts = Array.from({ length: partitions }, () => 0)
    for (let i = 0; i < partitions * 100; i++) counts[partitionOf(`customer-${i}`, partitions)]!++

    expect(Math.min(...counts)).toBeGreaterThan(50)
    expect(Math.max(...counts)).toBeLessThan(160)
  }
})
