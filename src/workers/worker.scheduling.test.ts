import { describe, expect, test } from 'vitest'

import { systemClock } from '../base/time/clock.ts'
import { notify } from '../base/sync/notify.ts'
import { openWorkers } from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'

describe('what a directive leads to', () => {
  test('a pass that proceeds is followed by the next at once [continue_executes_immediately]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({}, proceed(), proceed(), proceed(), sleep('1m'))

    await world.clock.advance(100)
    await it.stop()

    expect(times).toEqual([0, 0, 0, 0])
  })

  test('a sleep lasts as long as it says [sleep_respects_duration]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({}, sleep(100), sleep('1m'))

    await world.clock.advance(300)
    await it.stop()

    expect(times).toEqual([0, 100])
  })

  test('a sleep of 0 ends at once [sleep_zero_is_immediate]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({}, sleep(0), sleep('1m'))

    await world.clock.advance(50)

    expect(times).toEqual([0, 0])
  })

  test('an idle worker runs when a notifier fires [idle_wakes_on_notify]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({}, idle(), sleep('1m'))
    world.wakeAt([50])

    await world.clock.advance(999)

    expect(times).toEqual([0, 50])
  })

  test('an idle worker without notifiers does nothing until it is stopped [idle_with_no_notifiers_blocks_until_cancel]', async () => {
    await using world = openWorkers()
    const { it, times } = world.play({ wakeOn: [] }, proceed())

    await world.clock.advance(50)
    await it.stop()

    expect(times).toEqual([])
    expect(world.clock.now()).toBe(50)
  })

  test('a sleep ends early when a notifier fires [sleep_wakes_early_on_notify]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({}, sleep(100), sleep('1m'))
    world.wakeAt([20])

    await world.clock.advance(50)
    await it.stop()

    expect(times).toEqual([0, 20])
  })

  test('a notifier does not shorten the pace, and its permit stays', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const pacing = { min: 100, active: 100, step: 0 }
    const { times } = world.play({ pacing }, proceed(), idle(), idle())
    world.wakeAt([20])

    await world.clock.advance(500)

    expect(times).toEqual([0, 100, 100])
  })

  test('a notifier that fires during a pass leads to another pass', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({}, { takes: 30, ends: idle() }, idle())
    world.wakeAt([10, 20])

    await world.clock.advance(500)

    expect(times).toEqual([0, 30])
  })

  test('nothing runs before the first wake-up', async () => {
    await using world = openWorkers()
    const { times } = world.play({}, proceed())

    await world.clock.advance('1d')

    expect(times).toEqual([])
  })

  test('every runs passes on a beat, the first after one interval', async () => {
    await using world = openWorkers()
    const { times } = world.play({ wakeOn: [], every: '1s' }, idle(), idle(), idle())

    await world.clock.advance('3s')

    expect(times).toEqual([1000, 2000, 3000])
  })

  test('beats that come during a long pass are one wake-up', async () => {
    await using world = openWorkers()
    const { times } = world.play(
      { wakeOn: [], every: '1s' },
      { takes: 3500, ends: idle() },
      idle(),
      idle(),
    )

    await world.clock.advance('5s')

    expect(times).toEqual([1000, 4500, 5000])
  })

  test('a worker that nothing can wake is reported', async () => {
    await using world = openWorkers()

    world.play({ wakeOn: [] })

    expect(world.log.at('warn')).toEqual([
      'worker has neither wakeOn nor every: nothing will ever wake it',
    ])
  })

  test('a loop without delays lets timers and I/O of the process have their turn', async () => {
    await using world = openWorkers()
    let passes = 0
    world.wake.notifyOne()
    const it = world.start('fast', { clock: systemClock() }, async () => {
      passes++
      return proceed()
    })

    const seen: number[] = []
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(passes)
    }
    await it.stop()

    expect(seen[2]).toBeGreaterThan(seen[1]!)
  })
})

describe('notifiers', () => {
  test('one is enough [single_notifier_wakes]', async () => {
    await using world = openWorkers()
    const only = notify()
    const { times } = world.play({ wakeOn: [only] }, idle())
    world.wakeAt([50], only)

    await world.clock.advance(100)

    expect(times).toEqual([50])
  })

  test('any of several wakes the worker [multiple_notifiers_first_one_wakes]', async () => {
    await using world = openWorkers()
    const [first, second, third] = [notify(), notify(), notify()]
    first.notifyOne()
    const { times } = world.play({ wakeOn: [first, second, third] }, idle(), sleep('1m'))
    world.wakeAt([50], second)

    await world.clock.advance(100)

    expect(times).toEqual([0, 50])
  })

  test('without any nothing wakes it [zero_notifiers_blocks_until_cancel]', async () => {
    await using world = openWorkers()
    const { it, times } = world.play({ wakeOn: [] }, proceed())
    world.wakeAt([10])

    await world.clock.advance(50)
    await it.stop()

    expect(times).toEqual([])
  })

  test('a stored permit leads to a pass at once [stored_permit_consumed_immediately]', async () => {
    await using world = openWorkers()
    const [quiet, ready] = [notify(), notify()]
    ready.notifyOne()
    const { times } = world.play({ wakeOn: [quiet, ready] }, idle())

    await world.clock.advance(100)

    expect(times).toEqual([0])
  })

  test('a notify before the start is not lost [stored_permit]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    await world.clock.advance('1h')
    const { times } = world.play({}, idle())

    await world.clock.advance(100)

    expect(times).toEqual([3_600_000])
  })

  test('many notifies before the start are one pass [multiple_coalesce]', async () => {
    await using world = openWorkers()
    for (let i = 0; i < 5; i++) world.wake.notifyOne()
    const { times } = world.play({}, idle(), idle())

    await world.clock.advance(100)

    expect(times).toEqual([0])
  })

  test('permits at two notifiers are two passes', async () => {
    await using world = openWorkers()
    const [first, second] = [notify(), notify()]
    first.notifyOne()
    second.notifyOne()
    const { times } = world.play({ wakeOn: [first, second] }, idle(), idle(), idle())

    await world.clock.advance(100)

    expect(times).toEqual([0, 0])
  })

  test('a notify while the worker is already awake goes to the next worker', async () => {
    await using world = openWorkers()
    const [own, shared] = [notify(), notify()]
    const both = world.play({ wakeOn: [own, shared] }, idle())
    const other = world.play({ wakeOn: [shared] }, idle())
    await world.clock.advance(0)

    own.notifyOne()
    shared.notifyOne()
    await world.clock.advance(100)

    expect(both.times).toEqual([0])
    expect(other.times).toEqual([0])
  })

  test('a shared one wakes its workers in turn, one for each notify', async () => {
    await using world = openWorkers()
    const passes: string[] = []
    for (const name of ['a', 'b', 'c']) {
      world.start(name, {}, async () => {
        passes.push(name)
        return idle()
      })
    }
    await world.clock.advance(0)

    world.wakeAt([1, 2, 3, 4])
    await world.clock.advance(100)

    expect(passes).toEqual(['a', 'b', 'c', 'a'])
  })

  test('notifyAll wakes every worker that waits, and none later', async () => {
    await using world = openWorkers()
    const [one, two] = [world.play({}, idle()), world.play({}, idle())]
    await world.clock.advance(0)

    world.wake.notifyAll()
    const late = world.play({}, idle())
    await world.clock.advance(100)

    expect([one.times, two.times, late.times]).toEqual([[0], [0], []])
  })
})
