import { describe, expect, test } from 'vitest'

import { type Backoff, resolveBackoff } from '../base/time/backoff.ts'
import { silentLog } from '../base/log.ts'
import { diary, NO_PACING, openWorkers, scripted } from '../../test/support/workers.ts'
import { Bulkhead } from './bulkhead.ts'
import { idle, proceed, sleep } from './directive.ts'
import { supervise } from './supervisor.ts'
import type { Health } from './worker.ts'
import { WorkerLoop } from './worker-loop.ts'
import { resolveWorkerOptions } from './worker-options.ts'

const trouble = new Error('trouble')
const retryOn = 'notifier'

/** A backoff without jitter. */
function exactly(initial: number, more: Backoff = {}): Backoff {
  return { initial, jitter: 0, ...more }
}

describe('under retryOn: notifier', () => {
  test('a failed worker runs again when notified [error_triggers_escalation_and_retry]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ retryOn }, trouble, proceed(), sleep('1m'))
    world.wakeAt([10])

    await world.clock.advance(100)

    expect(times).toEqual([0, 10, 10])
  })

  test('an error of the first pass is retried too [error_on_first_call_retries]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ retryOn }, trouble, sleep('1m'))
    world.wakeAt([10])

    await world.clock.advance(100)

    expect(times).toEqual([0, 10])
  })

  test.each([
    [200, 200],
    [30, 100],
  ])(
    'a notify at %i ms leads to a pass at %i ms, for the floor is 100 ms [error_applies_backoff_floor]',
    async (notifiedAt, ranAt) => {
      await using world = openWorkers()
      world.wake.notifyOne()
      const { times } = world.play({ retryOn, backoff: exactly(100) }, trouble, sleep('1m'))
      world.wakeAt([notifiedAt])

      await world.clock.advance(500)

      expect(times).toEqual([0, ranAt])
    },
  )

  test('every further error raises the floor [consecutive_errors_escalate]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const backoff = exactly(10)
    const { it, times } = world.play({ retryOn, backoff }, trouble, trouble, trouble)
    world.wakeAt([5, 20, 50, 100])

    await world.clock.advance(15)
    expect(it.health().failures).toBe(2)
    await world.clock.advance(500)

    // Floors of 10, 20 and 40 ms, each from the start of the failed pass.
    expect(times).toEqual([0, 10, 30, 70, 100])
  })

  test('a success sets the backoff back [success_resets_bulkhead]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const steps = [trouble, trouble, proceed(), trouble, sleep('1m')]
    const { times } = world.play({ retryOn, backoff: exactly(50) }, ...steps)
    world.wakeAt([100, 300, 310])

    await world.clock.advance(500)

    expect(times).toEqual([0, 100, 300, 300, 350])
  })

  test('a failed worker is idle [error_sets_directive_to_idle]', async () => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const { it, times } = world.play({ retryOn, listeners: [book] }, trouble, sleep('1m'))
    world.wakeAt([50])

    await world.clock.advance(49)
    expect(it.health()).toMatchObject({ state: 'idle', failures: 1, lastError: 'Error: trouble' })
    expect(book.entries.slice(-2)).toEqual(['error 0 trouble 1 0', 'idle'])
    await world.clock.advance(900)

    expect(times).toEqual([0, 50])
  })

  test.each([
    [
      [250, 300],
      [250, 300],
    ],
    [
      [50, 300],
      [200, 300],
    ],
  ])(
    'a floor from before the start holds for the first pass: notified at %j, run at %j [error_backoff_delays_idle]',
    async (notifiedAt, ranAt) => {
      await using world = openWorkers()
      const bulkhead = new Bulkhead([], resolveBackoff('test', exactly(200)))
      bulkhead.escalate()
      const options = { clock: world.clock, log: world.log, wakeOn: [world.wake], retryOn } as const
      const setup = resolveWorkerOptions('failed before', { ...options, pacing: NO_PACING })
      const { pass, times } = scripted(world.clock, [idle(), sleep('1m')])
      world.keep(new WorkerLoop('failed before', { ...setup, bulkhead }, pass))
      world.wakeAt(notifiedAt)

      await world.clock.advance(500)

      expect(times).toEqual(ranAt)
    },
  )

  test('without a notifier a failed worker stays idle forever', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({ retryOn, backoff: exactly(100) }, trouble)

    await world.clock.advance('365d')

    expect(times).toEqual([0])
    expect(it.health().state).toBe('idle')
  })

  test('the floor counts from the start of the pass, so a long one is retried at once', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const long = { takes: 150, ends: trouble }
    const { times } = world.play({ retryOn, backoff: exactly(100) }, long, sleep('1m'))
    world.wakeAt([20])

    await world.clock.advance(500)

    expect(times).toEqual([0, 150])
  })
})

describe('under retryOn: timer', () => {
  test('a failed worker runs again by itself when its backoff ends', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ backoff: exactly(100) }, trouble, trouble, trouble, idle())

    await world.clock.advance('1m')

    expect(times).toEqual([0, 100, 300, 700])
  })

  test('the backoff counts from the end of the failed pass', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ backoff: exactly(100) }, { takes: 150, ends: trouble }, idle())

    await world.clock.advance('1m')

    expect(times).toEqual([0, 250])
  })

  test('a notify during the backoff does not shorten it, and its permit stays', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ backoff: exactly(100) }, trouble, idle(), idle(), idle())
    world.wakeAt([20, 40])

    await world.clock.advance('1m')

    expect(times).toEqual([0, 100, 100])
  })

  test('a success sets the backoff back', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const steps = [trouble, trouble, proceed(), trouble, idle()]
    const { times } = world.play({ backoff: exactly(100) }, ...steps)

    await world.clock.advance('1m')

    expect(times).toEqual([0, 100, 300, 300, 400])
  })

  test('a backoff is neither an idle wait nor a sleep to the listeners', async () => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    world.play({ backoff: exactly(100), listeners: [book] }, trouble, idle())

    await world.clock.advance(100)

    expect(book.entries).toEqual([
      'start',
      'idle',
      'execute',
      'error 0 trouble 1 100',
      'execute',
      'complete 0 idle',
      'idle',
    ])
  })

  test('jitter comes from the given randomness', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const backoff = { initial: 100, jitter: 0.5 }
    const { times } = world.play({ backoff, random: () => 0 }, trouble, trouble, idle())

    await world.clock.advance('1m')

    expect(times).toEqual([0, 50, 150])
  })

  test('a worker that fails a hundred thousand times keeps trying, no slower than max', async () => {
    await using world = openWorkers()
    let passes = 0
    world.wake.notifyOne()
    const options = { backoff: exactly(1, { max: 10 }), log: silentLog }
    const it = world.start('hopeless', options, async () => {
      passes++
      throw trouble
    })

    // 1 + 2 + 4 + 8 ms, then 10 ms each.
    await world.clock.advance(15 + 10 * (100_000 - 5))

    expect(passes).toBe(100_000)
    expect(it.health()).toMatchObject({ state: 'backing-off', failures: 100_000 })
  })
})

describe('a throw', () => {
  test.each([
    [
      'an error thrown before the first await',
      () => {
        throw trouble
      },
    ],
    ['a rejected promise', () => Promise.reject(trouble)],
  ])('%s is an error of the pass', async (_, pass) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const it = world.start('failing', { backoff: exactly(100) }, pass)

    await world.clock.advance(50)

    expect(it.health()).toMatchObject({ failures: 1, lastError: 'Error: trouble' })
  })

  test.each([
    [undefined, 'undefined'],
    ['text', 'text'],
    [null, 'null'],
    [{}, '[object Object]'],
  ])('of %j, which is not an error, is shown as it is', async (thrown, shown) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const pass = (): Promise<never> => Promise.reject(thrown)
    const it = world.start('failing', { backoff: exactly(100) }, pass)

    await world.clock.advance(50)

    expect(it.health()).toMatchObject({ failures: 1, lastError: shown })
  })

  test('a pass that returns nothing has failed, and the error says what to return', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const it = world.start('forgetful', { backoff: exactly(100) }, async () => undefined as never)

    await world.clock.advance(50)

    expect(it.health()).toMatchObject({
      failures: 1,
      lastError: 'TypeError: a pass must return proceed(), idle() or sleep(…), got undefined',
    })
  })

  test('ends the worker under onThrow: propagate, and done rejects with it', async () => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const { it, times } = world.play({ onThrow: 'propagate', listeners: [book] }, trouble)

    await expect(it.done).rejects.toBe(trouble)
    await world.clock.advance('1m')

    expect(times).toEqual([0])
    expect(it.health()).toMatchObject({ state: 'dead', lastError: 'Error: trouble' })
    expect(book.entries).toEqual(['start', 'idle', 'execute'])
    expect(world.log.at('error')).toEqual(['worker died'])
  })

  test('that is not awaited is no unhandled rejection', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ onThrow: 'propagate', every: 5 }, trouble)

    await world.clock.advance(100)

    expect(it.health().state).toBe('dead')
    expect(world.clock.pending).toBe(0)
    await expect(it.stop()).resolves.toEqual({ stragglers: [] })
  })
})

describe('a thrown value that cannot be read', () => {
  class Sealed extends Error {
    override get message(): string {
      throw new Error('do not look')
    }
  }
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  const unreadable: [string, unknown, string][] = [
    ['an error whose message throws', new Sealed(), 'a Sealed'],
    ['an object that cannot be text', Object.create(null), 'an object'],
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
    [
      'an error with a symbol for a name',
      Object.assign(new Error(), { name: Symbol() }),
      'an Error',
    ],
    ['a proxy that was revoked', revoked.proxy, 'an object that cannot be read'],
  ]

  test.each(unreadable)('%s, is an error to retry like any other', async (_, thrown, lastError) => {
    await using world = openWorkers()
    let passes = 0
    world.wake.notifyOne()
    const it = world.start('odd', { backoff: exactly(100) }, async () => {
      if (++passes === 1) throw thrown
      return idle()
    })

    await world.clock.advance(50)
    expect(it.health()).toMatchObject({ state: 'backing-off', failures: 1, lastError })
    await world.clock.advance(50)

    expect(it.health()).toMatchObject({ state: 'idle', failures: 0 })
  })

  test.each(unreadable)('%s, is a death that is reported', async (_, thrown, lastError) => {
    await using world = openWorkers()
    const reported: unknown[] = []
    let passes = 0
    world.wake.notifyOne()
    const options = { onThrow: 'propagate', backoff: exactly(100) } as const
    const it = world.start('odd', options, async () => {
      if (++passes === 1) throw thrown
      return idle()
    })
    const onDeath = (health: Health): void => void reported.push(health.lastError)
    supervise([it], { onDeath, clock: world.clock, log: world.log })

    await world.clock.advance('1s')

    expect(reported).toEqual([lastError])
    expect(passes).toBe(2)
  })
})
