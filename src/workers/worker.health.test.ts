import { describe, expect, test } from 'vitest'

import { semaphore } from '../base/sync/semaphore.ts'
import { openWorkers } from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'

const trouble = new Error('trouble')
const backoff = { initial: 100, jitter: 0 }

/** The date of the virtual clock at this many milliseconds. */
function at(ms: number): Date {
  return new Date(Date.UTC(2030, 0, 1) + ms)
}

describe('the health of a worker', () => {
  test('is idle before anything happened', async () => {
    await using world = openWorkers()
    const { it } = world.play({})

    expect(it.health()).toEqual({ name: 'player', state: 'idle', failures: 0 })
    await world.clock.advance(10)

    expect(it.health()).toEqual({ name: 'player', state: 'idle', failures: 0 })
  })

  test('shows the next beat while it is idle', async () => {
    await using world = openWorkers()
    const { it } = world.play({ every: 100 }, idle())

    expect(it.health()).toMatchObject({ state: 'idle', nextWakeAt: at(100) })
    await world.clock.advance(130)

    expect(it.health()).toEqual({
      name: 'player',
      state: 'idle',
      failures: 0,
      lastRunAt: at(100),
      nextWakeAt: at(200),
    })
  })

  test('shows the end of a sleep', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({}, sleep(500))

    await world.clock.advance(200)

    expect(it.health()).toEqual({
      name: 'player',
      state: 'sleeping',
      failures: 0,
      lastRunAt: at(0),
      nextWakeAt: at(500),
    })
  })

  test('shows a beat that comes before the end of a sleep', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ every: 300 }, sleep(500))

    await world.clock.advance(200)

    expect(it.health()).toMatchObject({ state: 'sleeping', nextWakeAt: at(300) })
  })

  test('shows the end of the pace, which no beat shortens', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ every: 300, pacing: { active: 500 } }, proceed())

    await world.clock.advance(200)

    expect(it.health()).toMatchObject({ state: 'sleeping', nextWakeAt: at(500) })
  })

  test('is running during a pass', async () => {
    await using world = openWorkers()
    world.wakeAt([10])
    const { it } = world.play({}, { takes: 100, ends: idle() })

    await world.clock.advance(50)

    expect(it.health()).toEqual({
      name: 'player',
      state: 'running',
      failures: 0,
      lastRunAt: at(10),
    })
  })

  test('is waiting when the worker is woken but its limit is used up', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ limit: { fixed: semaphore(0) } }, idle())

    await world.clock.advance(50)

    expect(it.health()).toEqual({ name: 'player', state: 'waiting', failures: 0 })
  })

  test('is backing-off after a failure, with its message and the time of the retry', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ backoff, every: 60 }, trouble, trouble, idle())

    await world.clock.advance(50)
    expect(it.health()).toEqual({
      name: 'player',
      state: 'backing-off',
      failures: 1,
      lastRunAt: at(0),
      lastError: 'Error: trouble',
      nextWakeAt: at(100),
    })
    await world.clock.advance(100)

    expect(it.health()).toMatchObject({ failures: 2, lastRunAt: at(100), nextWakeAt: at(300) })
  })

  test('is backing-off below its floor, then idle, under retryOn: notifier', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ backoff, retryOn: 'notifier' }, trouble)

    await world.clock.advance(50)
    expect(it.health()).toMatchObject({ state: 'backing-off', failures: 1 })
    await world.clock.advance(100)

    expect(it.health()).toEqual({
      name: 'player',
      state: 'idle',
      failures: 1,
      lastRunAt: at(0),
      lastError: 'Error: trouble',
    })
  })

  test('forgets the failure with the next success', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ backoff }, trouble, idle())

    await world.clock.advance(150)

    expect(it.health()).toEqual({
      name: 'player',
      state: 'idle',
      failures: 0,
      lastRunAt: at(100),
    })
  })

  test('keeps the latest failure when the worker is stopped, and no next wake-up', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ backoff, every: 1000 }, trouble)
    await world.clock.advance(50)

    await it.stop()

    expect(it.health()).toEqual({
      name: 'player',
      state: 'stopped',
      failures: 1,
      lastRunAt: at(0),
      lastError: 'Error: trouble',
    })
  })

  test('shows no next wake-up while the worker is being stopped', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ every: 1000 }, { takes: 100, ends: idle() })
    await world.clock.advance(50)
    expect(it.health()).toMatchObject({ state: 'running', nextWakeAt: at(1000) })

    const stopped = it.stop()

    expect(it.health()).toEqual({ name: 'player', state: 'running', failures: 0, lastRunAt: at(0) })
    await world.clock.until(stopped)
  })

  test('is dead when a pass threw under onThrow: propagate', async () => {
    await using world = openWorkers()
    const { it } = world.play({ every: 100, onThrow: 'propagate' }, trouble)

    await world.clock.advance(500)

    expect(it.health()).toEqual({
      name: 'player',
      state: 'dead',
      failures: 1,
      lastRunAt: at(100),
      lastError: 'Error: trouble',
    })
  })
})
