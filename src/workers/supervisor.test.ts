import { describe, expect, test } from 'vitest'

import {
  diary,
  heldPass,
  memoryLog,
  openWorkers,
  type Workers,
} from '../../test/support/workers.ts'
import { idle, sleep } from './directive.ts'
import { supervise, type Supervisor, type SupervisorOptions } from './supervisor.ts'
import type { Worker } from './worker.ts'

/** A supervisor on the world's clock and log, of idle workers with these names. */
function superviseIdle(world: Workers, ...names: readonly string[]): Supervisor {
  return supervise(
    names.map((name) => world.start(name, {}, async () => idle())),
    { clock: world.clock, log: world.log },
  )
}

function namesIn(of: Supervisor): string[] {
  return of.health().map((health) => health.name)
}

describe('a supervisor', () => {
  test('stops all its workers [spawn_and_shutdown]', async () => {
    await using world = openWorkers()
    const group = superviseIdle(world, 'a', 'b', 'c')
    expect(group.health()).toHaveLength(3)

    const report = await group.stop()

    expect(report).toEqual({ stragglers: [] })
    expect(group.health().map((health) => health.state)).toEqual(['stopped', 'stopped', 'stopped'])
  })

  test('stops cleanly when a worker has died, and the death is logged [panicking_task_reported]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({ onThrow: 'propagate' }, new Error('trouble'))
    const group = supervise([it], { restart: 'never', clock: world.clock, log: world.log })
    await world.clock.advance(0)

    const report = await group.stop()

    expect(report).toEqual({ stragglers: [] })
    expect(world.log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'worker died' }),
    )
  })

  test('without workers stops at once [empty_shutdown]', async () => {
    const group = supervise()

    expect(await group.stop()).toEqual({ stragglers: [] })
    await expect(group.done).resolves.toBeUndefined()
  })

  test('lets every running pass finish [all_spawned_tasks_complete_on_shutdown]', async () => {
    await using world = openWorkers()
    const books = ['A:', 'B:', 'C:'].map((name) => diary(name))
    const workers = books.map((book, i) =>
      world.start(`w${i}`, { listeners: [book], every: 10 }, async () => {
        await new Promise<void>((resolve) => void world.clock.after(100, resolve))
        return idle()
      }),
    )
    const group = supervise(workers, { clock: world.clock, log: world.log })
    await world.clock.advance(50)

    await world.clock.until(group.stop())

    expect(world.clock.now()).toBe(110)
    expect(books.map((book) => book.entries.slice(-3))).toEqual([
      ['A:complete 100 idle', 'A:idle', 'A:stop'],
      ['B:complete 100 idle', 'B:idle', 'B:stop'],
      ['C:complete 100 idle', 'C:idle', 'C:stop'],
    ])
  })

  test('stops its workers when its block is left [drop_without_shutdown_cancels_token]', async () => {
    await using world = openWorkers()
    const { it } = world.play({})
    {
      await using group = supervise([it], { clock: world.clock, log: world.log })
      expect(group.health()[0]!.state).toBe('idle')
    }

    expect(it.health().state).toBe('stopped')
  })

  test('can be stopped again and again [drop_after_shutdown_is_idempotent]', async () => {
    await using world = openWorkers()
    await using group = superviseIdle(world, 'a')

    await group.stop()

    expect(await group.stop()).toEqual({ stragglers: [] })
    expect(await group.stop({ within: 0 })).toEqual({ stragglers: [] })
    await expect(group.done).resolves.toBeUndefined()
  })

  test('has all its workers, in the order they were added [len_tracks_count]', async () => {
    await using world = openWorkers()
    const group = superviseIdle(world)
    expect(namesIn(group)).toEqual([])

    group.add(world.start('one', {}, async () => idle()))
    expect(namesIn(group)).toEqual(['one'])
    group.add(world.start('two', {}, async () => idle()))
    group.add(world.start('three', {}, async () => idle()))

    expect(namesIn(group)).toEqual(['one', 'two', 'three'])
  })

  test('names all workers that did not end in time', async () => {
    await using world = openWorkers()
    const start = (name: string): Worker => world.start(name, { every: 10 }, heldPass().pass)
    const quick = world.start('quick', { every: 10 }, async () => idle())
    const group = supervise([start('deaf'), quick, start('numb')], {
      clock: world.clock,
      log: world.log,
    })
    await world.clock.advance(50)

    const report = await world.clock.until(group.stop({ within: 100 }))

    expect(report).toEqual({ stragglers: ['deaf', 'numb'] })
    expect(world.clock.now()).toBeCloseTo(150)
    await expect(group.done).resolves.toBeUndefined()
  })

  test('stops all workers at the same time, not one after the other', async () => {
    await using world = openWorkers()
    const workers = [1, 2, 3].map((n) =>
      world.start(`w${n}`, { every: 10 }, async () => {
        await new Promise<void>((resolve) => void world.clock.after(1000, resolve))
        return sleep(1)
      }),
    )
    const group = supervise(workers, { clock: world.clock, log: world.log })
    await world.clock.advance(20)

    await world.clock.until(group.stop())

    expect(world.clock.now()).toBe(1010)
  })
})

describe('bad input', () => {
  test.each<[object, string]>([
    [{ restart: 'all' }, `restart must be one of 'never', 'one', 'escalate', got "all"`],
    [{ max: -1 }, 'max must be a whole number, 0 or more, got -1'],
    [{ max: 1.5 }, 'max must be a whole number, 0 or more, got 1.5'],
    [{ max: NaN }, 'max must be a whole number, 0 or more, got NaN'],
    [{ per: -1 }, 'per must be a finite number of milliseconds, 0 or more, got -1'],
    [{ per: 'minute' }, 'per must be a number of milliseconds or a string such as '],
    [{ onDeath: 'log' }, 'onDeath must be a function, got "log"'],
    [{ log: memoryLog }, 'log must be a logger, got a function (memoryLog)'],
    [{ clock: {} }, 'clock must be a clock, but it has no method now()'],
    [{ restrat: 'one' }, 'unknown option "restrat", did you mean "restart"?'],
  ])('%j is refused by name and value', (options, message) => {
    expect(() => supervise([], options as SupervisorOptions)).toThrow(`supervise: ${message}`)
  })

  test.each<[unknown, string]>([
    [{ within: -1 }, 'within must be a finite number of milliseconds, 0 or more, got -1'],
    [{ witin: 5 }, 'unknown option "witin", did you mean "within"?'],
  ])('a stop with %j is refused, and nothing is stopped', async (options, message) => {
    await using world = openWorkers()
    const group = superviseIdle(world, 'a')

    await expect(group.stop(options as never)).rejects.toThrow(`supervise: stop: ${message}`)
    group.add(world.start('b', {}, async () => idle()))

    expect(group.health().map((health) => health.state)).toEqual(['idle', 'idle'])
  })

  test('a name that is taken is refused', async () => {
    await using world = openWorkers()
    const group = superviseIdle(world, 'mailer')
    const second = world.start('mailer', {}, async () => idle())

    expect(() => group.add(second)).toThrow('supervise: a worker named "mailer" already exists')
  })

  test('the name of a worker that has ended is free again', async () => {
    await using world = openWorkers()
    const group = superviseIdle(world, 'mailer', 'other')
    const first = world.start('first', {}, async () => idle())
    group.add(first)
    await first.stop()

    group.add(world.start('first', {}, async () => idle()))

    expect(group.health()).toMatchObject([
      { name: 'mailer', state: 'idle' },
      { name: 'other', state: 'idle' },
      { name: 'first', state: 'idle' },
    ])
  })

  test('of workers that have ended it keeps the latest hundred', async () => {
    await using world = openWorkers()
    const group = superviseIdle(world, 'stays')
    let isOver = false
    void group.done.then(() => (isOver = true))

    for (let i = 0; i < 150; i++) {
      const it = world.start(`brief ${i}`, {}, async () => idle())
      group.add(it)
      await it.stop()
    }

    expect(namesIn(group)).toEqual([
      'stays',
      ...Array.from({ length: 100 }, (_, i) => `brief ${i + 50}`),
    ])
    expect(isOver).toBe(false)
    await group.stop()
    await group.done
  })

  test.each<[string, (other: Worker, mine: Worker) => unknown]>([
    ['is given twice', (_, mine) => mine],
    ['is no worker', () => ({})],
    ['has a supervisor', (other) => other],
  ])('when one of several %s, none of them is taken', async (_, last) => {
    await using world = openWorkers()
    const options = { clock: world.clock, log: world.log }
    const other = world.start('other', {}, async () => idle())
    const mine = world.start('mine', {}, async () => idle())
    supervise([other], options)

    expect(() => supervise([mine, last(other, mine) as Worker], options)).toThrow(/^supervise: /)

    expect(namesIn(supervise([mine], options))).toEqual(['mine'])
  })

  test('a worker that has a supervisor is refused', async () => {
    await using world = openWorkers()
    const { it } = world.play({})
    supervise([it], { clock: world.clock, log: world.log })

    expect(() => supervise([it])).toThrow('supervise: worker "player" already has a supervisor')
  })

  test('a worker that is added after the stop is refused', async () => {
    await using world = openWorkers()
    const group = superviseIdle(world)
    await group.stop()

    expect(() => group.add(world.start('late', {}, async () => idle()))).toThrow(
      'supervise: worker "late" was added after stop()',
    )
  })

  test('a worker that has ended is refused', async () => {
    await using world = openWorkers()
    const stopped = world.start('stopped one', {}, async () => idle())
    await stopped.stop()
    world.wake.notifyOne()
    const dead = world.start('dead one', { onThrow: 'propagate' }, () =>
      Promise.reject(new Error()),
    )
    await world.clock.advance(0)

    expect(() => supervise([stopped])).toThrow('worker "stopped one" is already stopped')
    expect(() => supervise([dead])).toThrow('worker "dead one" is already dead')
  })

  test.each([{}, undefined, 'mailer'])('%j, which is not a worker, is refused', (wrong) => {
    expect(() => supervise([wrong as unknown as Worker])).toThrow(
      'supervise: a worker must be made by worker(), got ',
    )
  })
})

test('one worker that is not in a list is refused', async () => {
  await using world = openWorkers()
  const { it } = world.play({})

  expect(() => supervise(it as never)).toThrow(
    new TypeError('supervise: workers must be a list, got a WorkerLoop'),
  )
})
