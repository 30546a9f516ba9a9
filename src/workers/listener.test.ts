import { describe, expect, test } from 'vitest'

import type { Metrics } from '../base/metrics.ts'
import { diary, memoryLog, openWorkers } from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'
import { type Listener, Listeners, logListener } from './listener.ts'

const trouble = new Error('trouble')

function fail(): never {
  throw trouble
}

/** Calls every callback of a listener once. */
function emitAll(listeners: Listeners): void {
  listeners.emit('onStart')
  listeners.emit('onIdle')
  listeners.emit('onExecute')
  listeners.emit('onComplete', 5, sleep(7))
  listeners.emit('onSleep', 7)
  listeners.emit('onError', 3, trouble, 1, 100)
  listeners.emit('onStop')
}

function broken(how: () => unknown): Listener<never> {
  const names = ['Start', 'Idle', 'Execute', 'Complete', 'Sleep', 'Error', 'Stop']
  return Object.fromEntries(names.map((name) => [`on${name}`, how]))
}

describe('listeners', () => {
  test('a listener without callbacks is not called [noop_listener_compiles]', () => {
    const log = memoryLog()

    emitAll(new Listeners([{}], log))

    expect(log.lines).toEqual([])
  })

  test('every callback receives its event', () => {
    const book = diary()

    emitAll(new Listeners([book], memoryLog()))

    expect(book.entries).toEqual([
      'start',
      'idle',
      'execute',
      'complete 5 sleep',
      'sleep 7',
      'error 3 trouble 1 100',
      'stop',
    ])
  })

  test('a callback may use this', () => {
    class Counter implements Listener<unknown> {
      idles = 0
      onIdle(): void {
        this.idles++
      }
    }
    const counter = new Counter()

    emitAll(new Listeners([counter], memoryLog()))

    expect(counter.idles).toBe(1)
  })

  test('a listener that throws is logged once for each callback, and the others are called', () => {
    const log = memoryLog()
    const book = diary()
    const throwing = broken(fail)
    const listeners = new Listeners([throwing, book], log)

    emitAll(listeners)
    emitAll(listeners)

    expect(book.entries).toHaveLength(14)
    expect(log.lines).toHaveLength(7)
    expect(log.lines[0]).toEqual({
      level: 'error',
      message: 'a listener threw; later errors of this callback are not logged',
      data: { callback: 'onStart', err: trouble },
    })
  })

  test.each([
    ['throws', () => Promise.resolve().then(() => Promise.reject(trouble))],
    // oxlint-disable-next-line unicorn/no-thenable -- a listener may return anything
    ['has a wrong then', () => ({ then: 3 })],
    // oxlint-disable-next-line unicorn/no-thenable -- a listener may return anything
    ['has a then that throws', () => ({ then: fail })],
  ])('a listener whose promise %s does not affect the worker', async (_, how) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({ listeners: [broken(how)] }, trouble, proceed(), sleep(5))

    await world.clock.advance('1s')

    expect(times).toEqual([0, 0, 0, 5])
    expect(it.health().state).toBe('sleeping')
  })

  test('each broken listener is logged by itself', () => {
    const log = memoryLog()
    const listeners = new Listeners([broken(fail), broken(fail)], log)

    emitAll(listeners)
    emitAll(listeners)

    expect(log.lines).toHaveLength(14)
  })

  test('a log that rejects does not affect the worker', async () => {
    await using world = openWorkers()
    const reject = (): unknown => Promise.reject(trouble)
    const log = { debug: reject, info: reject, warn: reject, error: reject }
    world.wake.notifyOne()
    const { times } = world.play({ log, listeners: [broken(fail)] }, trouble, idle())

    await world.clock.advance('1s')

    expect(times).toEqual([0, 0])
  })

  test('a listener that always throws does not affect the worker', async () => {
    await using world = openWorkers()
    const throwing = broken(fail)
    world.wake.notifyOne()
    const { it, times } = world.play({ listeners: [throwing] }, trouble, proceed(), idle())

    await world.clock.advance('1s')

    expect(times).toEqual([0, 0, 0])
    expect(it.health()).toMatchObject({ state: 'idle', failures: 0 })
    await it.stop()
    await expect(it.done).resolves.toBeUndefined()
  })

  test('a log that throws does not affect the worker either', async () => {
    await using world = openWorkers()
    const log = { debug: fail, info: fail, warn: fail, error: fail }
    world.wake.notifyOne()
    const { it, times } = world.play({ log, listeners: [broken(fail)] }, trouble, idle())

    await world.clock.advance('1s')

    expect(times).toEqual([0, 0])
    expect(it.health().state).toBe('idle')
  })
})

describe('the log of a worker', () => {
  test('says when it starts and stops [tracing_listener_start_stop]', () => {
    const log = memoryLog()
    const listener = logListener(log)

    listener.onStart!()
    listener.onStop!()

    expect(log.at('debug')).toEqual(['worker started', 'worker stopped'])
  })

  test('is louder from the fourth failure in a row on [tracing_listener_graduated_error_levels]', () => {
    const log = memoryLog()
    const listener = logListener(log)

    for (let failures = 1; failures <= 5; failures++)
      listener.onError!(2.4, trouble, failures, 99.6)

    expect(log.lines.map((line) => line.level)).toEqual(['debug', 'debug', 'debug', 'warn', 'warn'])
    expect(log.at('debug')).toEqual(Array.from({ length: 3 }, () => 'pass failed, retrying'))
    expect(log.lines[3]).toEqual({
      level: 'warn',
      message: 'pass failed repeatedly, retrying',
      data: { ms: 2, failures: 4, backoffMs: 100, err: trouble },
    })
  })

  test('does not care about the payload [tracing_listener_with_typed_payload]', async () => {
    await using world = openWorkers()
    const listener: Listener<number> = logListener(world.log)
    world.wake.notifyOne()
    world.start<number>('typed', { listeners: [listener] }, async () => idle(42))

    await world.clock.advance(0)

    expect(world.log.at('error')).toEqual([])
  })

  test.each([
    [3, []],
    [4, ['worker recovered']],
  ])('after %i failures a success says %j', async (failures, said) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    world.play({}, ...Array.from({ length: failures }, () => trouble), idle())

    await world.clock.advance(0)

    expect(world.log.at('info')).toEqual(said)
    expect(world.log.lines.every((line) => line.data['worker'] === 'player')).toBe(true)
  })
})

describe('the metrics of a worker', () => {
  test('count and time its passes and its failures', async () => {
    await using world = openWorkers()
    const seen: string[] = []
    const metrics: Metrics = {
      count: (name, by, labels) => seen.push(`${name} ${by} ${labels['worker']}`),
      record: (name, value, labels) => seen.push(`${name} ${value} ${labels['worker']}`),
    }
    world.wake.notifyOne()
    world.play({ metrics }, { takes: 3, ends: trouble }, { takes: 4, ends: idle() })

    await world.clock.advance('1s')

    expect(seen).toEqual([
      'holdfast_worker_failures 1 player',
      'holdfast_worker_pass_ms 3 player',
      'holdfast_worker_passes 1 player',
      'holdfast_worker_pass_ms 4 player',
    ])
  })

  test('count and time a pass that its worker dies of, though onError is not called', async () => {
    await using world = openWorkers()
    const seen: string[] = []
    const metrics: Metrics = {
      count: (name) => void seen.push(name),
      record: (name, value) => void seen.push(`${name} ${value}`),
    }
    const book = diary()
    const options = { metrics, listeners: [book], onThrow: 'propagate' } as const
    world.wake.notifyOne()
    const { it } = world.play(options, { takes: 3, ends: trouble })

    await world.clock.advance('1s')

    expect(seen).toEqual(['holdfast_worker_failures', 'holdfast_worker_pass_ms 3'])
    expect(book.entries).toEqual(['start', 'idle', 'execute'])
    expect(it.health()).toMatchObject({ state: 'dead', failures: 1 })
  })

  test.each<[string, () => void]>([
    ['throw', fail],
    ['reject', () => Promise.reject(trouble)],
  ])('that %s do not affect the worker', async (_, how) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({ metrics: { count: how, record: how } }, trouble, idle())

    await world.clock.advance(0)

    expect(times).toEqual([0, 0])
    expect(world.log.at('error')).toEqual(['a metrics sink threw; later errors are not logged'])
  })
})
