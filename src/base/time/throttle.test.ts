import { expect, test } from 'vitest'
import { Throttle } from './throttle.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'

function scene() {
  const clock = virtualClock()
  const calls: number[] = []
  return { clock, calls, throttle: new Throttle(clock, () => calls.push(clock.now())) }
}

test('the first call comes at once, later ones after the pause, and none is forgotten', async () => {
  const { clock, calls, throttle } = scene()

  for (let ms = 0; ms < 100; ms++) {
    throttle.request(30)
    await clock.advance(1)
  }
  await clock.advance('1m')

  expect(calls).toEqual([0, 30, 60, 90, 120])
  expect(clock.pending).toBe(0)
})

test('a call that was cancelled is not made', async () => {
  const { clock, calls, throttle } = scene()
  throttle.request(10)
  throttle.request(10)

  throttle.cancel()
  await clock.advance('1m')

  expect(calls).toEqual([0])
  expect(throttle.agoMs).toBe(60_000)
})
