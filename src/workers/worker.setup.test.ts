import { describe, expect, expectTypeOf, test } from 'vitest'

import { notify } from '../base/sync/notify.ts'
import { semaphore } from '../base/sync/semaphore.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { NO_PACING, openWorkers } from '../../test/support/workers.ts'
import { type Directive, idle, proceed } from './directive.ts'
import type { Listener } from './listener.ts'
import { worker } from './worker.ts'
import { resolveWorkerOptions, type WorkerOptions } from './worker-options.ts'

describe('the options of a worker', () => {
  test('may leave out notifiers [builder_no_notifiers]', () => {
    expect(resolveWorkerOptions('w', {}).wakeOn).toEqual([])
  })

  test('may name one notifier [builder_single_notifier]', () => {
    const only = notify()

    expect(resolveWorkerOptions('w', { wakeOn: [only] }).wakeOn).toEqual([only])
  })

  test('may name several notifiers, and keep their order [builder_multiple_notifiers]', () => {
    const three = [notify(), notify(), notify()]

    const { wakeOn } = resolveWorkerOptions('w', { wakeOn: three })

    expect(wakeOn).toHaveLength(3)
    expect(wakeOn.every((one, i) => one === three[i])).toBe(true)
  })

  test('start no beat before the worker runs [builder_tuning_idle_interval_defers_poker_to_run]', () => {
    const clock = virtualClock()

    const setup = resolveWorkerOptions('w', { every: '1m', clock })

    expect(setup.wakeOn).toEqual([])
    expect(setup.everyMs).toBe(60_000)
    expect(clock.pending).toBe(0)
  })

  test('add no notifier of their own [builder_notifier_plus_deferred_poker]', () => {
    const only = notify()

    const { wakeOn } = resolveWorkerOptions('w', { wakeOn: [only], every: '1m' })

    expect(wakeOn).toEqual([only])
  })

  test('may set a limit and a backoff [builder_with_bulkhead]', () => {
    const { bulkhead } = resolveWorkerOptions('w', {
      limit: { fixed: semaphore(2) },
      backoff: { initial: '1s', jitter: 0 },
    })

    expect(bulkhead.unlimited).toBe(false)
    expect(bulkhead.escalate()).toBe(1000)
  })

  test('may all be left out', () => {
    const setup = resolveWorkerOptions('w', {})

    expect(setup).toMatchObject({
      everyMs: undefined,
      pacing: { minMs: 10, activeMs: 100, stepMs: 10 },
      timeoutMs: undefined,
      retryOn: 'timer',
      onThrow: 'retry',
      signal: undefined,
    })
    expect(setup.bulkhead.unlimited).toBe(true)
  })

  test('that are undefined count as left out, and are never changed', () => {
    const given = Object.freeze({ every: undefined, pacing: Object.freeze({ min: undefined }) })

    const setup = resolveWorkerOptions('w', given as unknown as WorkerOptions)

    expect(setup.pacing.minMs).toBe(10)
  })
})

async function fine(): Promise<Directive> {
  return idle()
}

describe('bad input', () => {
  const about = 'worker "w": '

  test.each<[object, string]>([
    [{ every: -1 }, 'every must be a finite number of milliseconds, 0 or more, got -1'],
    [{ every: NaN }, 'every must be a finite number of milliseconds, 0 or more, got NaN'],
    [{ every: 0 }, 'every must be at least 1 ms, got 0'],
    [{ every: 'daily' }, 'every must be a number of milliseconds or a string such as '],
    [{ timeout: -5 }, 'timeout must be a finite number of milliseconds, 0 or more, got -5'],
    [{ timeout: Infinity }, 'timeout must be a finite number of milliseconds, 0 or more, got Inf'],
    [{ timeout: 0 }, 'timeout must be at least 1 ms, got 0'],
    [{ timeout: null }, 'timeout must be a number of milliseconds or a string such as '],
    [
      { pacing: { min: -1 } },
      'pacing: min must be a finite number of milliseconds, 0 or more, got',
    ],
    [
      { pacing: { active: NaN } },
      'pacing: active must be a finite number of milliseconds, 0 or mo',
    ],
    [
      { pacing: { step: '-1s' } },
      'pacing: step must be a number of milliseconds or a string such as ',
    ],
    [{ pacing: { max: 1 } }, 'pacing: unknown option "max", did you mean "min"?'],
    [{ pacing: 5 }, 'pacing: options must be a plain object, got 5'],
    [
      { backoff: { initial: -1 } },
      'backoff: initial must be a finite number of milliseconds, 0 or',
    ],
    [
      { backoff: { max: NaN } },
      'backoff: max must be a finite number of milliseconds, 0 or more, ',
    ],
    [{ backoff: { multiplier: 0.9 } }, 'backoff: multiplier must be a number, 1 or more, got 0.9'],
    [{ backoff: { multiplier: NaN } }, 'backoff: multiplier must be a number, 1 or more, got NaN'],
    [{ backoff: { jitter: 1.5 } }, 'backoff: jitter must be a number, from 0 to 1, got 1.5'],
    [
      { backoff: { initial: '1m' } },
      'backoff: initial must not be above max, got 60000 ms above 3',
    ],
    [{ wakeOn: notify() }, 'wakeOn must be a list, got a PermitNotify'],
    [{ wakeOn: [notify(), {}] }, 'wakeOn[1] must be made by notify(), got an object'],
    [{ wakeOn: [undefined] }, 'wakeOn[0] must be made by notify(), got undefined'],
    [{ limit: 3 }, 'limit must be { fixed } or { guaranteed, shared }, got 3'],
    [{ limit: { fixed: 3 } }, 'limit.fixed must be made by semaphore(), got 3'],
    [{ retryOn: 'never' }, `retryOn must be one of 'timer', 'notifier', got "never"`],
    [{ onThrow: 'stop' }, `onThrow must be one of 'retry', 'propagate', got "stop"`],
    [{ listeners: {} }, 'listeners must be a list, got an object'],
    [{ listeners: [3] }, 'listeners[0] must be a listener, got 3'],
    [{ log: { debug() {} } }, 'log must be a logger, but it has no method info()'],
    [{ metrics: {} }, 'metrics must be a metrics sink, but it has no method count()'],
    [{ signal: 'SIGTERM' }, 'signal must be an AbortSignal, got "SIGTERM"'],
    [
      { signal: new AbortController() },
      'signal must be an AbortSignal, got an AbortController; pass its signal',
    ],
    [{ clock: Date }, 'clock must be a clock, got a function (Date)'],
    [{ random: 0.5 }, 'random must be a function, got 0.5'],
    [{ wakeon: [] }, 'unknown option "wakeon", did you mean "wakeOn"?'],
    [{ timeuot: 5 }, 'unknown option "timeuot", did you mean "timeout"?'],
    [
      { concurrency: 5 },
      'unknown option "concurrency"; the known options are wakeOn, every, pacing, limit',
    ],
  ])('%j is refused by name and value', (options, message) => {
    const start = () => worker('w', options as WorkerOptions, fine)

    expect(start).toThrow(about + message)
  })

  test.each<[unknown, string]>([
    ['', 'got ""'],
    [undefined, 'got undefined'],
    [7, 'got 7'],
  ])('the name %j is refused', (name, shown) => {
    const start = () => worker(name as string, {}, fine)

    expect(start).toThrow(`worker: name must be a non-empty string, ${shown}`)
  })

  test.each([null, 5, [], 'fast'])('options that are %j are refused', (options) => {
    const start = () => worker('w', options as unknown as WorkerOptions, fine)

    expect(start).toThrow('worker "w": options must be a plain object, got ')
  })

  test('a pass that is not a function is refused', () => {
    expect(() => worker('w', {}, idle() as never)).toThrow(
      'worker "w": pass must be a function, got an object',
    )
  })

  test('a refused worker leaves nothing behind', () => {
    const clock = virtualClock()

    expect(() => worker('w', { clock, every: 5 }, undefined as never)).toThrow(TypeError)
    expect(clock.pending).toBe(0)
  })

  test.each<[unknown, string]>([
    [{ within: -1 }, 'within must be a finite number of milliseconds, 0 or more, got -1'],
    [{ within: 'soon' }, 'within must be a number of milliseconds or a string such as '],
    [{ witin: 5 }, 'unknown option "witin", did you mean "within"?'],
    [5, 'options must be a plain object, got 5'],
  ])('a stop with %j is refused, and the worker runs on', async (options, message) => {
    await using world = openWorkers()
    const { it, times } = world.play({}, idle())

    const stopped = it.stop(options as never)
    await expect(stopped).rejects.toThrow(`worker "player": stop: ${message}`)
    world.wake.notifyOne()
    await world.clock.advance(0)

    expect(times).toEqual([0])
  })
})

describe('the payload of a worker', () => {
  test('may be of several types, and its listeners are given any of them', async () => {
    await using world = openWorkers()
    const seen: unknown[] = []
    let passes = 0
    const wakeOn = [world.wake]
    const listener: Listener<number | string | void> = {
      onComplete: (_ms, directive) => void seen.push(directive.payload),
    }
    world.wake.notifyOne()
    const options = { wakeOn, listeners: [listener], clock: world.clock, pacing: NO_PACING }
    const mixed = worker('mixed', options, async () => {
      passes++
      if (passes === 1) return proceed(7)
      return passes === 2 ? proceed('seven') : idle()
    })
    world.keep(mixed)

    await world.clock.advance(0)

    expect(seen).toEqual([7, 'seven', undefined])
  })

  test('gives its type to the listeners', async () => {
    await using world = openWorkers()
    const usual = { wakeOn: [world.wake], clock: world.clock, log: world.log }
    const dates: Listener<Date>[] = []
    const typed = worker(
      'typed',
      {
        ...usual,
        listeners: [
          {
            onComplete(_ms, { payload }) {
              expectTypeOf(payload).toEqualTypeOf<number | string>()
            },
          },
        ],
      },
      async () => (world.clock.now() > 0 ? idle(1) : proceed('one')),
    )
    // @ts-expect-error -- a listener of dates would get a number
    const wrong = worker('wrong', { ...usual, listeners: dates }, async () => idle(1))
    // @ts-expect-error -- a pass returns a directive
    const forgetful = worker('forgetful', usual, async () => {})

    const all = [typed, wrong, forgetful].map((one) => world.keep(one))
    expect(all.map((one) => one.health().state)).toEqual(['idle', 'idle', 'idle'])
  })
})
