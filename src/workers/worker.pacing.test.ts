import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { openWorkers } from '../../test/support/workers.ts'
import { notify } from '../base/sync/notify.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { idle, proceed, sleep } from './directive.ts'
import { Pace, resolvePacing } from './pacing.ts'
import { worker } from './worker.ts'

const pacing = { min: 10, active: 30, step: 10 }

describe('the pace of a worker', () => {
  test('rises with every pass that proceeds [adaptive_pacing_ramps_down_on_proceed]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ pacing }, proceed(), proceed(), proceed(), sleep('1m'))

    await world.clock.advance(500)

    expect(times).toEqual([0, 30, 50, 60])
  })

  test('of 0 means no delay [zero_pacing_no_delay]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({}, proceed(), proceed(), sleep('1m'))

    await world.clock.advance(199)

    expect(times).toEqual([0, 0, 0])
  })

  test('of 0 forever is noticed by a virtual clock', async () => {
    const clock = virtualClock()
    const wake = notify()
    let looping = true
    const it = worker('busy', { wakeOn: [wake], pacing: { min: 0, active: 0 }, clock }, async () =>
      looping ? proceed() : idle(),
    )
    wake.notifyOne()

    await expect(clock.advance('1m')).rejects.toThrow('something loops without waiting')

    looping = false
    expect(await clock.until(it.stop())).toEqual({ stragglers: [] })
    expect(clock.now()).toBe(0)
  }, 30_000)

  test('stays at its fastest', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const steps = Array.from({ length: 6 }, () => proceed())
    const { times } = world.play({ pacing }, ...steps, sleep('1m'))

    await world.clock.advance(500)

    expect(times).toEqual([0, 30, 50, 60, 70, 80, 90])
  })

  test('does not count the time of the pass', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ pacing }, { takes: 25, ends: proceed() }, idle())

    await world.clock.advance(500)

    expect(times).toEqual([0, 55])
  })

  test.each([
    ['a sleep', sleep(5), [0, 30, 50, 55, 85]],
    ['an idle wait', idle(), [0, 30, 50, 100, 130]],
    ['a failure', new Error('trouble'), [0, 30, 50, 50, 80]],
  ])('is slow again after %s', async (_, rest, expected) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ pacing }, proceed(), proceed(), rest, proceed(), sleep('1m'))
    world.wakeAt([100])

    await world.clock.advance(199)

    expect(times.slice(0, 5)).toEqual(expected)
  })

  test('waits longer the second time when its start is faster than its fastest', () => {
    const pace = new Pace(resolvePacing('test', { active: 5, min: 20, step: 1 }))

    expect([pace.next(), pace.next(), pace.next()]).toEqual([5, 20, 20])
  })

  test('follows the ramp rules, for any sequence of passes', () => {
    const ms = fc.nat(200)
    fc.assert(
      fc.property(ms, ms, ms, fc.array(fc.boolean()), (min, active, step, rests) => {
        const pace = new Pace(resolvePacing('test', { min, active, step }))
        let inARow = 0

        for (const rest of rests) {
          if (rest) {
            pace.rest()
            inARow = 0
            continue
          }
          // The first wait after a rest is the active pace; each further one is a step shorter.
          const expected = inARow === 0 ? active : Math.max(active - inARow * step, min)
          expect(pace.next()).toBe(expected)
          inARow++
        }
      }),
      { numRuns: 300 },
    )
  })
})
