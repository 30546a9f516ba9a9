import { describe, expect, test } from 'vitest'

import { sleep as wait } from '../base/time/clock.ts'
import { CancelledError } from '../base/errors.ts'
import { semaphore } from '../base/sync/semaphore.ts'
import {
  diary,
  heldPass,
  openWorkers,
  type Step,
  type Workers,
} from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'
import type { WorkerOptions } from './worker-options.ts'
import type { StopReport, Worker } from './worker.ts'

/** A worker in the middle of a pass that ends only when the test says so. */
async function openHeld(world: Workers, options: WorkerOptions = {}) {
  const held = heldPass()
  world.wake.notifyOne()
  const it = world.start('held', options, held.pass)
  await world.clock.advance(0)
  return { ...held, it, ctx: held.contexts[0]! }
}

/** What a promise has come to, once everything that is ready has run. */
async function outcome(world: Workers, report: Promise<StopReport>): Promise<unknown> {
  let seen: unknown = 'pending'
  void report.then((value) => (seen = value))
  await world.clock.advance(0)
  return seen
}

describe('the phases of a stop', () => {
  test('a pass finishes undisturbed within the first four fifths', async () => {
    await using world = openWorkers()
    const { it, ctx, release, contexts } = await openHeld(world)

    const report = it.stop({ within: 1000 })
    await world.clock.advance(799)
    release(proceed())

    expect(await report).toEqual({ stragglers: [] })
    expect(ctx.signal.aborted).toBe(false)
    expect(contexts).toHaveLength(1)
    expect(world.clock.pending).toBe(0)
  })

  test('a pass is aborted after four fifths, and has the last one to end', async () => {
    await using world = openWorkers()
    const { it, ctx, fail } = await openHeld(world)

    const report = it.stop({ within: 1000 })
    await world.clock.advance(799)
    expect(ctx.signal.aborted).toBe(false)
    await world.clock.advance(1)
    expect(ctx.signal.reason).toBeInstanceOf(CancelledError)
    expect(ctx.signal.reason).toMatchObject({ reason: 'worker "held" must end now' })
    await world.clock.advance(199)
    fail(ctx.signal.reason as Error)

    expect(await report).toEqual({ stragglers: [] })
    expect(it.health().state).toBe('stopped')
  })

  test('a pass that is still there at the end is named, and its end is still the end', async () => {
    await using world = openWorkers()
    const { it, release, contexts } = await openHeld(world, { every: 10 })

    const report = await world.clock.until(it.stop({ within: '1s' }))
    expect(report).toEqual({ stragglers: ['held'] })
    expect(world.clock.now()).toBeCloseTo(1000)
    expect(world.log.at('error')).toEqual([
      'worker did not stop in time; its pass is still running',
    ])
    expect(it.health()).toMatchObject({ state: 'running' })
    expect(world.clock.pending).toBe(0)
    release(proceed())
    await it.done

    expect(contexts).toHaveLength(1)
    expect(await it.stop()).toEqual({ stragglers: [] })
  })

  test('a stop waits 30 seconds by default', async () => {
    await using world = openWorkers()
    const { it, ctx } = await openHeld(world)

    const report = it.stop()
    await world.clock.advance(23_999)
    expect(ctx.signal.aborted).toBe(false)
    await world.clock.advance(1)
    expect(ctx.signal.aborted).toBe(true)

    expect(await world.clock.until(report)).toEqual({ stragglers: ['held'] })
    expect(world.clock.now()).toBeCloseTo(30_000)
  })

  test('a second stop with less time shortens the first', async () => {
    await using world = openWorkers()
    const { it, ctx } = await openHeld(world)

    const patient = it.stop({ within: '1m' })
    await world.clock.advance(1000)
    const hasty = it.stop({ within: 100 })
    await world.clock.advance(80)
    expect(ctx.signal.aborted).toBe(true)
    await world.clock.advance(20)

    expect(await outcome(world, hasty)).toEqual({ stragglers: ['held'] })
    expect(await outcome(world, patient)).toBe('pending')
    expect(await world.clock.until(patient)).toEqual({ stragglers: ['held'] })
  })

  test('all stops are answered when the pass ends', async () => {
    await using world = openWorkers()
    const { it, release } = await openHeld(world)

    const reports = [it.stop(), it.stop({ within: 500 }), it.stop({ within: '1h' })]
    release(idle())

    expect(await Promise.all(reports)).toEqual(reports.map(() => ({ stragglers: [] })))
    expect(world.clock.pending).toBe(0)
  })

  test('with no time at all a pass is aborted at once, and named if it does not end with that', async () => {
    await using world = openWorkers()
    const deaf = await openHeld(world)
    world.wake.notifyOne()
    const polite = world.start('polite', {}, async (ctx) => {
      await wait(world.clock, 60_000, ctx.signal)
      return idle()
    })
    await world.clock.advance(0)

    const reports = Promise.all([deaf.it, polite].map((one) => one.stop({ within: 0 })))

    expect(await world.clock.until(reports)).toEqual([{ stragglers: ['held'] }, { stragglers: [] }])
    expect(world.clock.now()).toBe(0)
  })

  test('a pass that waits for the stop of its own worker does not hang forever', async () => {
    await using world = openWorkers()
    let report: StopReport | undefined
    world.wake.notifyOne()
    const it: Worker = world.start('snake', {}, async () => {
      report = await it.stop({ within: '5s' })
      return proceed()
    })

    await world.clock.until(it.done)

    expect(report).toEqual({ stragglers: ['snake'] })
    expect(world.clock.now()).toBeCloseTo(5000)
  })

  test('a pass that fails during the stop is not tried again', async () => {
    await using world = openWorkers()
    const { it, fail, contexts } = await openHeld(world)

    const report = it.stop()
    fail(new Error('trouble'))

    expect(await report).toEqual({ stragglers: [] })
    expect(contexts).toHaveLength(1)
    expect(it.health()).toMatchObject({ state: 'stopped', lastError: 'Error: trouble' })
  })

  test('a worker that dies during the stop has ended too', async () => {
    await using world = openWorkers()
    const { it, fail } = await openHeld(world, { onThrow: 'propagate' })

    const report = it.stop()
    fail(new Error('trouble'))

    expect(await report).toEqual({ stragglers: [] })
    expect(it.health().state).toBe('dead')
    await expect(it.done).rejects.toThrow('trouble')
  })
})

describe('a worker that was stopped', () => {
  const trouble = new Error('trouble')
  const backoff = { initial: 100, jitter: 0 }

  test.each<[string, string, WorkerOptions<unknown>, readonly Step[]]>([
    ['idle', 'idle', { wakeOn: [] }, []],
    ['idle between beats', 'idle', { every: 500 }, [idle()]],
    ['sleeping', 'sleeping', {}, [sleep('1m')]],
    ['between two passes', 'sleeping', { pacing: { active: 100 } }, [proceed()]],
    ['backing off', 'backing-off', { backoff }, [trouble]],
    ['backing off, with a floor', 'backing-off', { backoff, retryOn: 'notifier' }, [trouble]],
    ['waiting for a permit', 'waiting', { limit: { fixed: semaphore(0) }, every: 70 }, []],
    ['in a pass', 'running', { every: 70 }, [{ takes: 90, ends: proceed() }]],
    ['in a timed pass', 'running', { timeout: 80 }, [{ takes: 90, ends: sleep(5) }]],
    ['in a late pass', 'running', { timeout: 20 }, [{ takes: 90, ends: trouble }]],
  ])('while it was %s leaves no timer behind', async (_, state, options, steps) => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const { it, times } = world.play({ ...options, listeners: [book] }, ...steps)
    await world.clock.advance(50)
    expect(it.health().state).toBe(state)
    const passes = times.length

    await world.clock.until(it.stop())
    await it.done

    expect(world.clock.pending).toBe(0)
    expect(it.health().state).toBe('stopped')
    expect(times).toHaveLength(passes)
    expect(book.entries.filter((entry) => entry === 'stop')).toHaveLength(1)
  })

  test('before it began leaves no timer behind', async () => {
    await using world = openWorkers()
    const { it } = world.play({ every: 10 })

    const stopped = it.stop()
    await stopped

    expect(world.clock.pending).toBe(0)
    expect(it.health().state).toBe('stopped')
  })

  test('can be stopped again and again', async () => {
    await using world = openWorkers()
    const { it } = world.play({})
    await it.stop()

    expect(await it.stop()).toEqual({ stragglers: [] })
    expect(await it.stop({ within: 0 })).toEqual({ stragglers: [] })
    expect(world.clock.pending).toBe(0)
  })

  test('by the end of an await using block has ended there', async () => {
    await using world = openWorkers()
    let after: Worker
    {
      await using it = world.play({}).it
      after = it
      await world.clock.advance(10)
      expect(it.health().state).toBe('idle')
    }

    expect(after.health().state).toBe('stopped')
    expect(world.clock.pending).toBe(0)
  })
})
