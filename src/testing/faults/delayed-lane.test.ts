import { expect, test } from 'vitest'

import { DelayedLane } from './delayed-lane.ts'

test('items without a delay run at once', () => {
  const lane = new DelayedLane(() => 0)
  const done: number[] = []

  lane.put(() => done.push(1))

  expect(done).toEqual([1])
})

test('the order stays as it is when the delay becomes shorter', async () => {
  let delayMs = 30
  const lane = new DelayedLane(() => delayMs)
  const done: number[] = []
  const begunMs = performance.now()

  lane.put(() => done.push(1))
  delayMs = 0
  lane.put(() => done.push(2))
  await new Promise<void>((resolve) => lane.put(resolve))

  expect(done).toEqual([1, 2])
  expect(performance.now() - begunMs).toBeGreaterThan(25)
})

test('a stalled lane delays everything, and then releases it in order', async () => {
  const lane = new DelayedLane(() => 0)
  const done: number[] = []

  lane.stall()
  lane.put(() => done.push(1))
  lane.put(() => done.push(2))
  // Long enough for a timer that should not be there.
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(done).toEqual([])
  lane.resume()
  await new Promise<void>((resolve) => lane.put(resolve))

  expect(done).toEqual([1, 2])
})

test('cleared items never run', async () => {
  const lane = new DelayedLane(() => 1)
  const done: number[] = []

  lane.put(() => done.push(1))
  lane.clear()
  await new Promise<void>((resolve) => lane.put(resolve))

  expect(done).toEqual([])
})
