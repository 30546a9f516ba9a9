import { describe, expect, test } from 'vitest'

import { sleep as wait, systemClock } from '../base/time/clock.ts'
import { CancelledError } from '../base/errors.ts'
import { notify, type PermitNotify } from '../base/sync/notify.ts'
import { FairSemaphore } from '../base/sync/semaphore.ts'
import { diary, heldPass, openWorkers } from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'
import type { PassContext, Worker } from './worker.ts'

describe('a stop', () => {
  test('ends an idle worker [cancel_during_idle]', async () => {
    await using world = openWorkers()
    const { it, times } = world.play({}, proceed())

    await world.clock.advance(10)
    await it.stop()
    await it.done

    expect(times).toEqual([])
    expect(world.clock.now()).toBe(10)
  })

  test('ends a sleep [cancel_during_sleep]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({}, sleep('10s'))

    await world.clock.advance(10)
    await it.stop()
    await it.done

    expect(times).toEqual([0])
    expect(world.clock.now()).toBe(10)
  })

  test('ends a loop that always proceeds, in real time [cancel_between_continues]', async () => {
    await using world = openWorkers()
    let passes = 0
    const underWay = notify()
    world.wake.notifyOne()
    const it = world.start('endless', { clock: systemClock() }, async () => {
      if (++passes === 1000) underWay.notifyOne()
      return proceed()
    })

    await underWay.wait()
    await it.stop()

    expect(passes).toBeGreaterThanOrEqual(1000)
    expect(it.health().state).toBe('stopped')
  })

  test('can be seen by the pass [cancel_visible_in_execute]', async () => {
    await using world = openWorkers()
    const seen: (readonly [stopping: boolean, aborted: boolean])[] = []
    const look = (ctx: PassContext): void =>
      void seen.push([ctx.stopping.aborted, ctx.signal.aborted])
    world.wake.notifyOne()
    const it = world.start('looking', {}, async (ctx) => {
      look(ctx)
      await wait(world.clock, 100)
      look(ctx)
      return proceed()
    })

    await world.clock.advance(50)
    const report = await world.clock.until(it.stop())

    expect(seen).toEqual([
      [false, false],
      [true, false],
    ])
    expect(report).toEqual({ stragglers: [] })
    expect(world.clock.now()).toBe(100)
  })

  test('before the start leaves no pass to run, permit or not [already_cancelled]', async () => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const { it, times } = world.play({ signal: AbortSignal.abort(), listeners: [book] }, proceed())

    await it.done

    expect(times).toEqual([])
    expect(book.entries).toEqual(['start', 'idle', 'stop'])
  })

  test('never interrupts a pass: its latency is the rest of the pass', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({}, { takes: 70, ends: proceed() })

    await world.clock.advance(20)
    await world.clock.until(it.stop())

    expect(times).toEqual([0])
    expect(world.clock.now()).toBe(70)
  })

  test('notifies a pass at once through ctx.stopping, so that it can end early', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const it = world.start('polite', {}, async (ctx) => {
      await wait(world.clock, 60_000, ctx.stopping).catch(() => {})
      expect(ctx.stopping.reason).toBeInstanceOf(CancelledError)
      expect(ctx.stopping.reason).toMatchObject({ reason: 'worker "polite" is being stopped' })
      return idle()
    })

    await world.clock.advance(20)
    await it.stop()

    expect(world.clock.now()).toBe(20)
    expect(it.health().failures).toBe(0)
  })
})

describe('the signal option', () => {
  test('stops the worker when it aborts', async () => {
    await using world = openWorkers()
    const controller = new AbortController()
    world.wake.notifyOne()
    const { it, times } = world.play({ signal: controller.signal }, sleep('1m'))

    await world.clock.advance(30)
    controller.abort()
    await it.done

    expect(times).toEqual([0])
    expect(it.health().state).toBe('stopped')
  })

  test('gives a running pass the time of a stop', async () => {
    await using world = openWorkers()
    const controller = new AbortController()
    const { pass, contexts } = heldPass()
    world.wake.notifyOne()
    world.start('held', { signal: controller.signal }, pass)
    await world.clock.advance(0)

    controller.abort()
    await world.clock.advance(23_999)
    expect(contexts[0]!.stopping.aborted).toBe(true)
    expect(contexts[0]!.signal.aborted).toBe(false)
    await world.clock.advance(6001)

    expect(contexts[0]!.signal.aborted).toBe(true)
    expect(world.log.at('error')).toEqual([
      'worker did not stop in time; its pass is still running',
    ])
  })

  test('has no listener of the worker after its end', async () => {
    await using world = openWorkers()
    const { signal } = new AbortController()
    const added: string[] = []
    const spy = {
      aborted: false,
      addEventListener: (...args: Parameters<AbortSignal['addEventListener']>) => {
        added.push('+')
        signal.addEventListener(...args)
      },
      removeEventListener: (...args: Parameters<AbortSignal['removeEventListener']>) => {
        added.push('-')
        signal.removeEventListener(...args)
      },
    } as AbortSignal
    const { it } = world.play({ signal: spy })

    await it.stop()

    expect(added).toEqual(['+', '-'])
  })
})

describe('a wake-up that leads to no pass', () => {
  test('stays when the worker was stopped at the same time', async () => {
    await using world = openWorkers()
    const { it, times } = world.play({}, idle())
    await world.clock.advance(0)

    world.wake.notifyOne()
    await it.stop()

    expect(times).toEqual([])
    await expect(world.wake.wait()).resolves.toBeUndefined()
  })

  test('goes to the next worker when the woken one was stopped', async () => {
    await using world = openWorkers()
    const first = world.play({}, idle())
    const second = world.play({}, idle())
    await world.clock.advance(0)

    world.wake.notifyOne()
    await first.it.stop()
    await world.clock.advance(0)

    expect(first.times).toEqual([])
    expect(second.times).toEqual([0])
  })

  test('goes to the next worker when the woken one is stopped while it waits for a permit', async () => {
    await using world = openWorkers()
    const first = world.play({ limit: { fixed: new FairSemaphore(0) } }, idle())
    const second = world.play({}, idle())
    world.wakeAt([10])

    await world.clock.advance(50)
    expect(first.it.health().state).toBe('waiting')
    await first.it.stop()
    await world.clock.advance(0)

    expect(first.times).toEqual([])
    expect(second.times).toEqual([50])
  })

  test('goes to the next worker when the woken one is refused', async () => {
    await using world = openWorkers()
    const closed = new FairSemaphore(1)
    closed.close()
    const first = world.play({ limit: { fixed: closed } }, idle())
    const second = world.play({}, idle())
    world.wakeAt([10])

    await world.clock.advance(50)

    expect(first.times).toEqual([])
    expect(first.it.health().state).toBe('stopped')
    expect(second.times).toEqual([10])
  })

  test('stays at its own notifier when there are several', async () => {
    await using world = openWorkers()
    const [first, second] = [notify(), notify()]
    const { it } = world.play({ wakeOn: [first, second] }, idle())
    await world.clock.advance(0)

    second.notifyOne()
    await it.stop()
    const heir = world.play({ wakeOn: [first] }, idle())
    const rightful = world.play({ wakeOn: [second] }, idle())
    await world.clock.advance(0)

    expect(heir.times).toEqual([])
    expect(rightful.times).toEqual([0])
  })
})

describe('a wake-up whose work is not done', () => {
  const backoff = { initial: 100, jitter: 0 }

  test('goes to the other worker when a stop ends the pace between passes', async () => {
    await using world = openWorkers()
    const queue = [1, 2, 3]
    const done: string[] = []
    const start = (name: string): Worker =>
      world.start(name, { pacing: { active: 100 } }, async () => {
        const item = queue.shift()
        if (item === undefined) return idle()
        done.push(`${name}${item}`)
        return proceed()
      })
    const a = start('a')
    start('b')
    await world.clock.advance(0)
    world.wake.notifyOne()
    await world.clock.advance(50)
    expect(a.health().state).toBe('sleeping')

    await a.stop()
    await world.clock.advance('1s')

    expect(done).toEqual(['a1', 'b2', 'b3'])
  })

  test.each([
    ['its backoff', { backoff }],
    ['its floor', { backoff, retryOn: 'notifier' }],
  ] as const)('stays when a stop ends %s', async (_, options) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play(options, new Error('trouble'))
    await world.clock.advance(50)
    expect(it.health().state).toBe('backing-off')

    await it.stop()

    await expect(world.wake.wait()).resolves.toBeUndefined()
  })

  test.each([
    ['idle', idle()],
    ['asleep', sleep('1m')],
  ])('is not there any more when the worker is %s', async (_, last) => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it } = world.play({}, proceed(), last)
    await world.clock.advance(50)

    await it.stop()

    await expect(world.wake.wait(AbortSignal.abort(new Error('none')))).rejects.toThrow('none')
    expect((world.wake as PermitNotify).takePermit()).toBe(false)
  })
})

describe('a pass that ends by the abort of its stop', () => {
  const ends: [string, (reason: unknown) => unknown][] = [
    ['throws the reason', (reason) => reason],
    ['wraps it', (reason) => new Error('lost', { cause: new Error('why', { cause: reason }) })],
  ]

  test.each(
    ends.flatMap(([how, made]) =>
      (['retry', 'propagate'] as const).flatMap((onThrow) =>
        (['signal', 'stopping'] as const).map((which) => [how, which, onThrow, made] as const),
      ),
    ),
  )('%s of ctx.%s has not failed under onThrow: %s', async (_, which, onThrow, made) => {
    await using world = openWorkers()
    const book = diary()
    world.wake.notifyOne()
    const it = world.start('polite', { onThrow, listeners: [book] }, (ctx) => {
      const { [which]: signal } = ctx
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(made(signal.reason))),
      )
    })
    await world.clock.advance(0)

    await world.clock.until(it.stop())

    await expect(it.done).resolves.toBeUndefined()
    expect(it.health()).toMatchObject({ state: 'stopped', failures: 0 })
    expect(it.health().lastError).toBeUndefined()
    expect(book.entries).toEqual(['start', 'idle', 'execute', 'stop'])
  })

  test('and throws something of its own has failed', async () => {
    await using world = openWorkers()
    const { pass, fail } = heldPass()
    const circular = new Error('trouble')
    circular.cause = circular
    world.wake.notifyOne()
    const it = world.start('held', { onThrow: 'propagate' }, pass)
    await world.clock.advance(0)

    const stopped = it.stop()
    fail(circular)
    await stopped

    await expect(it.done).rejects.toBe(circular)
  })
})
