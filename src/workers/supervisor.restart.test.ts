import { describe, expect, test } from 'vitest'

import {
  diary,
  heldPass,
  openWorkers,
  type Step,
  type Workers,
} from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'
import { supervise, type SupervisorOptions } from './supervisor.ts'
import type { WorkerOptions } from './worker-options.ts'

const trouble = new Error('trouble')
const backoff = { initial: 100, jitter: 0 }

/** A supervised worker that dies of what its script throws, and has a permit to begin with. */
function openMortal(
  world: Workers,
  supervision: SupervisorOptions,
  steps: readonly Step[],
  options: WorkerOptions<unknown> = {},
) {
  world.wake.notifyOne()
  const { it, times } = world.play({ onThrow: 'propagate', backoff, ...options }, ...steps)
  const group = supervise([it], { clock: world.clock, log: world.log, ...supervision })
  return { it, times, group }
}

function deaths(n: number): Error[] {
  return Array.from({ length: n }, () => trouble)
}

describe('restart: one', () => {
  test('starts a dead worker again after its backoff, with a pass at once', async () => {
    await using world = openWorkers()
    const book = diary()
    const mortal = openMortal(world, {}, [trouble, idle()], { listeners: [book] })

    await world.clock.advance(99)
    expect(mortal.it.health()).toMatchObject({
      state: 'backing-off',
      lastError: 'Error: trouble',
      nextWakeAt: new Date('2030-01-01T00:00:00.100Z'),
    })
    await world.clock.advance(1)

    expect(mortal.times).toEqual([0, 100])
    expect(mortal.it.health()).toMatchObject({ state: 'idle', failures: 0 })
    expect(mortal.it.health().lastError).toBeUndefined()
    expect(book.entries).toEqual([
      'start',
      'idle',
      'execute',
      'start',
      'execute',
      'complete 0 idle',
      'idle',
    ])
    expect(world.log.at('warn')).toEqual(['restarting worker'])
  })

  test('waits longer for each death within the window', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { max: 3 }, [...deaths(3), idle()])

    await world.clock.advance('1m')

    expect(mortal.times).toEqual([0, 100, 300, 700])
  })

  test('leaves a worker dead that dies more often than max', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { max: 2 }, deaths(5))

    await expect(world.clock.until(mortal.it.done)).rejects.toBe(trouble)
    await world.clock.advance('1h')

    expect(mortal.times).toEqual([0, 100, 300])
    expect(mortal.it.health().state).toBe('dead')
    expect(world.log.at('error').at(-1)).toBe('worker died too often; not restarting it')
    expect(world.clock.pending).toBe(0)
    await expect(mortal.group.stop()).resolves.toEqual({ stragglers: [] })
  })

  test('allows five restarts a minute by default', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, {}, deaths(10))

    await world.clock.advance('1h')

    expect(mortal.times).toEqual([0, 100, 300, 700, 1500, 3100])
  })

  test('forgets deaths that are older than the window', async () => {
    await using world = openWorkers()
    const seldom = [trouble, sleep('10s'), trouble, sleep('10s'), trouble, idle()]
    const mortal = openMortal(world, { max: 1, per: '5s' }, seldom)

    await world.clock.advance('1m')

    expect(mortal.times).toEqual([0, 100, 10_100, 10_200, 20_200, 20_300])
    expect(mortal.it.health().state).toBe('idle')
  })

  test('counts the deaths of each worker by themselves', async () => {
    await using world = openWorkers()
    const options = { onThrow: 'propagate', backoff } as const
    const start = (name: string) => {
      let passes = 0
      return world.start(name, { ...options, every: 10 }, async () => {
        if (++passes <= 2) throw trouble
        return sleep('1h')
      })
    }
    const group = supervise([start('a'), start('b')], {
      max: 2,
      clock: world.clock,
      log: world.log,
    })

    await world.clock.advance('1s')

    expect(group.health().map((health) => health.state)).toEqual(['sleeping', 'sleeping'])
  })

  test('does not harm the other workers', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, {}, deaths(100))
    const good = world.play({ every: '1s' }, ...Array.from({ length: 100 }, () => idle()))
    mortal.group.add(world.start('another', {}, async () => idle()))

    await world.clock.advance('10s')

    expect(good.times).toHaveLength(10)
  })

  test('is interrupted by a stop during the wait for the restart', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, {}, [trouble, idle()])
    await world.clock.advance(50)

    const report = await mortal.group.stop()

    expect(report).toEqual({ stragglers: [] })
    expect(mortal.times).toEqual([0])
    expect(mortal.it.health().state).toBe('stopped')
    await expect(mortal.it.done).resolves.toBeUndefined()
  })

  test('leaves an error alone that is retried: the worker is not dead', async () => {
    await using world = openWorkers()
    const reported: unknown[] = []
    const supervision = { onDeath: (_: unknown, error: unknown) => void reported.push(error) }
    const mortal = openMortal(world, supervision, [trouble, idle()], { onThrow: 'retry' })

    await world.clock.advance('1m')

    expect(reported).toEqual([])
    expect(mortal.times).toEqual([0, 100])
  })
})

describe('restart: never', () => {
  test('leaves a dead worker dead, and the others running', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { restart: 'never' }, [trouble, idle()])
    mortal.group.add(world.start('good', {}, async () => idle()))

    await expect(mortal.it.done).rejects.toBe(trouble)
    await world.clock.advance('1h')

    expect(mortal.times).toEqual([0])
    expect(mortal.group.health().map((health) => health.state)).toEqual(['dead', 'idle'])
  })
})

describe('restart: escalate', () => {
  test('stops everything when a worker died too often; not restarting it, and done rejects with its error', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { restart: 'escalate', max: 2 }, deaths(5))
    const good = world.start('good', {}, async () => idle())
    mortal.group.add(good)

    await expect(world.clock.until(mortal.group.done)).rejects.toBe(trouble)
    await world.clock.advance(0)

    expect(mortal.times).toEqual([0, 100, 300])
    expect(mortal.group.health().map((health) => health.state)).toEqual(['dead', 'stopped'])
    expect(() => mortal.group.add(world.play({}).it)).toThrow('was added after stop()')
    expect(world.clock.pending).toBe(0)
  })

  test('restarts like one as long as the deaths are few', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { restart: 'escalate', max: 2 }, [...deaths(2), idle()])

    await world.clock.advance('1m')
    expect(mortal.times).toEqual([0, 100, 300])
    await mortal.group.stop()

    await expect(mortal.group.done).resolves.toBeUndefined()
  })

  test('that is not awaited is no unhandled rejection', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { restart: 'escalate', max: 0 }, deaths(1))

    await world.clock.advance('1m')

    expect(mortal.it.health().state).toBe('dead')
  })
})

describe('onDeath', () => {
  test('is called in the moment of each death, with the health of the dead worker', async () => {
    await using world = openWorkers()
    const reported: unknown[] = []
    const onDeath: SupervisorOptions['onDeath'] = ({ name, state, lastError }, error) =>
      void reported.push([world.clock.now(), name, state, lastError, error])
    openMortal(world, { onDeath }, [{ takes: 30, ends: trouble }, proceed(), trouble, idle()])

    await world.clock.advance('1m')

    expect(reported).toEqual([
      [30, 'player', 'dead', 'Error: trouble', trouble],
      [130, 'player', 'dead', 'Error: trouble', trouble],
    ])
  })

  test('is also called when a worker dies while it is being stopped', async () => {
    await using world = openWorkers()
    const reported: unknown[] = []
    const held = heldPass()
    world.wake.notifyOne()
    const it = world.start('held', { onThrow: 'propagate' }, held.pass)
    const group = supervise([it], {
      onDeath: (_, error) => void reported.push(error),
      restart: 'escalate',
      max: 0,
      clock: world.clock,
      log: world.log,
    })
    await world.clock.advance(0)

    const stopped = group.stop()
    held.fail(trouble)
    await stopped

    expect(reported).toEqual([trouble])
    expect(it.health().state).toBe('dead')
    await expect(group.done).resolves.toBeUndefined()
  })

  test('of a worker that is stopped by itself leads to no restart and no escalation', async () => {
    await using world = openWorkers()
    const held = heldPass()
    world.wake.notifyOne()
    const it = world.start('held', { onThrow: 'propagate' }, held.pass)
    const other = world.start('other', {}, async () => idle())
    const options = { restart: 'escalate', max: 0, clock: world.clock, log: world.log } as const
    supervise([it, other], options)
    await world.clock.advance(0)

    const stopped = it.stop()
    held.fail(trouble)
    await stopped

    expect(it.health().state).toBe('dead')
    expect(other.health().state).toBe('idle')
    expect(world.log.at('warn')).toEqual([])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('broken alarm')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken alarm'))],
  ])('that %s is logged and changes nothing', async (_, onDeath) => {
    await using world = openWorkers()
    const mortal = openMortal(world, { onDeath }, [trouble, idle()])

    await world.clock.advance('1m')

    expect(mortal.times).toEqual([0, 100])
    expect(world.log.at('error')).toEqual(['worker died', 'onDeath threw; ignored'])
  })

  test('may stop everything', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { onDeath: () => void mortal.group.stop(), max: 10 }, [
      trouble,
      idle(),
    ])

    await world.clock.until(mortal.group.done)

    expect(mortal.times).toEqual([0])
    expect(mortal.it.health().state).toBe('dead')
  })
})

describe('done', () => {
  test('resolves when the last worker was stopped by itself', async () => {
    await using world = openWorkers()
    const [a, b] = ['a', 'b'].map((name) => world.start(name, {}, async () => idle()))
    const group = supervise([a!, b!], { clock: world.clock, log: world.log })
    let settled = false
    void group.done.then(() => (settled = true))

    await a!.stop()
    await world.clock.advance(0)
    expect(settled).toBe(false)
    await b!.stop()

    await expect(group.done).resolves.toBeUndefined()
  })

  test.each<[string, SupervisorOptions]>([
    ['is never restarted', { restart: 'never' }],
    ['has used up its restarts', { restart: 'one', max: 2 }],
  ])('rejects with the error of the last worker when that %s', async (_, supervision) => {
    await using world = openWorkers()
    const mortal = openMortal(world, supervision, [{ takes: 10, ends: trouble }, ...deaths(2)])
    const other = world.start('other', {}, async () => idle())
    mortal.group.add(other)
    await other.stop()

    await expect(world.clock.until(mortal.group.done)).rejects.toBe(trouble)
  })

  test('resolves when a worker has died and the last one was stopped', async () => {
    await using world = openWorkers()
    const mortal = openMortal(world, { restart: 'never' }, deaths(1))
    const other = world.start('other', {}, async () => idle())
    mortal.group.add(other)
    await world.clock.advance(0)

    await other.stop()

    await expect(mortal.group.done).resolves.toBeUndefined()
  })
})
