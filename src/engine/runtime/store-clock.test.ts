import { describe, expect, test } from 'vitest'

import { virtualClock } from '../../base/virtual-clock.ts'
import { StoreClock } from './store-clock.ts'

describe('the store clock', () => {
  test('goes on from the last answer of the store', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000_000)

    await clock.advance(250)

    expect(time.now()).toBe(1_000_250)
    time.saw(2_000_000)
    expect(time.now()).toBe(2_000_000)
  })

  test('never goes back, also when the store does', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000)
    await clock.advance(500)
    expect(time.now()).toBe(1_500)

    time.saw(1_400)
    expect(time.now()).toBe(1_500)
    await clock.advance(200)
    expect(time.now()).toBe(1_600)
  })

  test('is a whole number', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(10)

    await clock.advance(0.7)

    expect(time.now()).toBe(10)
  })
})
