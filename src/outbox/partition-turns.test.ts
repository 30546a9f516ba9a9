import { expect, test } from 'vitest'
import { PartitionTurns } from './partition-turns.ts'

test('each partition has its turn before the first has another one', () => {
  const turns = new PartitionTurns(() => 0.5)
  const orders = { name: 'orders', partitions: 4 }

  const taken = Array.from({ length: 6 }, () => turns.take(orders))

  expect(taken).toEqual([2, 3, 0, 1, 2, 3])
})

test('topics that are used in turn use all of their partitions', () => {
  const turns = new PartitionTurns()
  const seen = { a: new Set<number>(), b: new Set<number>() }

  for (let i = 0; i < 4; i++) {
    seen.a.add(turns.take({ name: 'a', partitions: 4 }))
    seen.b.add(turns.take({ name: 'b', partitions: 4 }))
  }

  expect([seen.a.size, seen.b.size]).toEqual([4, 4])
})

test('where a topic begins is random', () => {
  for (const [random, first] of [
    [0, 0],
    [0.49, 1],
    [0.999, 3],
  ] as const) {
    expect(new PartitionTurns(() => random).take({ name: 'a', partitions: 4 })).toBe(first)
  }
})
