import { expect, test } from 'vitest'

import { topicsOf } from './topics.ts'

const part = (topic: string, partition: number, depth: number, oldestMs: number) => ({
  topic,
  partition,
  depth,
  lag: Math.floor(depth / 2),
  oldestMs,
})

test('partitions are summed by topic, the longest wait first', () => {
  const rows = topicsOf({
    partitions: [part('mail', 1, 4, 10), part('mail', 0, 6, 30), part('order', 0, 1, 900)],
    dead: [
      { topic: 'mail', count: 3 },
      { topic: 'gone', count: 1 },
    ],
  })

  expect(
    rows.map(({ partitions, ...row }) => [row, partitions.map((one) => one.partition)]),
  ).toEqual([
    [{ topic: 'order', depth: 1, lag: 0, oldestMs: 900, dead: 0 }, [0]],
    [{ topic: 'mail', depth: 10, lag: 5, oldestMs: 30, dead: 3 }, [0, 1]],
    [{ topic: 'gone', depth: 0, lag: 0, oldestMs: 0, dead: 1 }, []],
  ])
})
