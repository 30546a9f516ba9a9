import { expect, test } from 'vitest'

import { randomUuid, seededRandom } from './random.ts'

const SEED = '00112233445566778899aabbccddeeff'

function numbers(seed: string): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: 5 }, () => random.number())
}

test('the same seed gives the same numbers, another seed gives others', () => {
  expect(numbers(SEED)).toEqual(numbers(SEED))
  expect(numbers(SEED)).not.toEqual(numbers(SEED.replace('0', '1')))
  expect(numbers('0'.repeat(32))).not.toEqual(numbers(`${'0'.repeat(31)}1`))
})

test('numbers lie in [0, 1) and are spread evenly', () => {
  const random = seededRandom(SEED)
  const buckets = Array.from({ length: 10 }, () => 0)
  for (let i = 0; i < 10_000; i++) {
    const number = random.number()
    expect(number >= 0 && number < 1).toBe(true)
    buckets[Math.floor(number * 10)]!++
  }

  for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(150)
})

test('UUIDs have version 4 and differ', () => {
  const random = seededRandom(SEED)
  const uuids = Array.from({ length: 1_000 }, () => randomUuid(random))

  for (const uuid of uuids) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
  expect(new Set(uuids).size).toBe(1_000)
})
