import { describe, expect, test } from 'vitest'

import { virtualClock } from '../../testing/virtual-clock.ts'
import { StoreClock } from './store-clock.ts'

describe('the store clock', () => {
  test('continues from the last answer of the store', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000_000)

    await clock.advance(250)

    expect(time.now()).toBe(1_000_250)
    time.saw(2_000_000)
    expect(time.now()).toBe(2_000_000)
  })

  test('never goes back, even when the store does by a moment', async () => {
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

  test('is not set back by an answer that took longer than an earlier one', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000)
    await clock.advance(100)
    const askedMs = clock.now()
    await clock.advance(20)

    // Read when it was asked, and then the answer waited for a disk.
    time.saw(1_100, askedMs)
    await clock.advance(5)

    expect(time.now()).toBe(1_125)
  })

  test('is set forward by an answer that took less time than an earlier one', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    await clock.advance(20)
    time.saw(1_000, 0)
    await clock.advance(10)

    time.saw(1_030, clock.now())

    expect(time.now()).toBe(1_030)
  })

  test('is set back as soon as an answer shows that it is ahead', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000)
    await clock.advance(100)
    const askedMs = clock.now()
    await clock.advance(5)

    // Whatever of the five milliseconds went by on the way, the store cannot be further than 1,086.
    time.saw(1_080, askedMs)
    await clock.advance(100)

    expect(time.now()).toBe(1_180)
  })

  test('forgets a quick answer in time, since clocks drift', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000)
    await clock.advance(100_000)

    time.saw(100_995, clock.now() - 8)
    await clock.advance(20)

    expect(time.now()).toBe(101_015)
  })

  test('is not ahead for long after the clock of the store went back a little', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(1_000)
    await clock.advance(30_001)

    time.saw(30_986, clock.now() - 20)
    await clock.advance(100)

    expect(time.now()).toBe(31_086)
  })

  test('is a whole number', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(10)

    await clock.advance(0.7)

    expect(time.now()).toBe(10)
  })

  test('a clock that was set back calls back, and one that only lags does not', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    let calls = 0
    time.onStepBack = () => calls++
    time.saw(600_000)
    await clock.advance(5_000)

    time.saw(604_500)
    expect(calls).toBe(0)
    time.saw(604_000 - 600_000)

    expect(calls).toBe(1)
  })

  test('follows a clock that was set back, and does not stop until the difference has passed', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    time.saw(600_000)
    await clock.advance(5_000)
    expect(time.now()).toBe(605_000)

    time.saw(5_000)
    expect(time.now()).toBe(5_000)
    await clock.advance(1_000)

    expect(time.now()).toBe(6_000)
  })

  test('many small steps back do not add up to a stopped clock', async () => {
    const clock = virtualClock()
    const time = new StoreClock(clock)
    for (let n = 0; n < 10; n++) {
      time.saw(100_000 - n * 900)
      expect(time.now()).toBeLessThan(101_001 - n * 900)
    }
  })
})
