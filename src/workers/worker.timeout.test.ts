import { getEventListeners } from 'node:events'

import { describe, expect, test } from 'vitest'

import { sleep as wait } from '../base/time/clock.ts'
import { CancelledError, TimeoutError } from '../base/errors.ts'
import { silentLog } from '../base/log.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { heldPass, openWorkers } from '../../test/support/workers.ts'
import { type Directive, idle, sleep } from './directive.ts'
import type { Listener } from './listener.ts'
import { timedPass } from './timed-pass.ts'

/** A listener that keeps the errors it receives. */
function errorsOf(): Listener<unknown> & { readonly errors: unknown[] } {
  const errors: unknown[] = []
  return { errors, onError: (_ms, error) => void errors.push(error) }
}

function failing(): Promise<never> {
  return Promise.reject(new Error('broken'))
}

/** A pass with more listeners on its signal than Node expects. */
async function listen({ signal }: { signal: AbortSignal }): Promise<Directive> {
  for (let i = 0; i < 20; i++) signal.addEventListener('abort', () => {})
  return idle()
}

describe('a pass with a timeout', () => {
  test('is undisturbed when it ends in time', async () => {
    await using world = openWorkers()
    const held = heldPass()
    world.wake.notifyOne()
    const it = world.start('held', { timeout: 100 }, held.pass)
    await world.clock.advance(99)

    held.release(sleep('1m'))
    await world.clock.advance('1s')

    expect(held.contexts[0]!.signal.aborted).toBe(false)
    expect(it.health().failures).toBe(0)
    expect(world.clock.pending).toBe(1)
  })

  test('sees its signal abort with a TimeoutError, and has failed when it throws', async () => {
    await using world = openWorkers()
    const seen = errorsOf()
    world.wake.notifyOne()
    const options = { timeout: 100, listeners: [seen], backoff: { initial: 50, jitter: 0 } }
    const it = world.start('slow', options, async (ctx) => {
      await wait(world.clock, 60_000, ctx.signal)
      return idle()
    })

    await world.clock.advance(120)

    expect(it.health()).toMatchObject({
      state: 'backing-off',
      failures: 1,
      lastError: 'TimeoutError: pass ran longer than 100 ms',
      nextWakeAt: new Date('2030-01-01T00:00:00.150Z'),
    })
    expect(seen.errors[0]).toBeInstanceOf(TimeoutError)
    expect(seen.errors[0]).toMatchObject({ afterMs: 100 })
    expect((seen.errors[0] as TimeoutError).cause).toBeUndefined()
  })

  test('has failed with a TimeoutError, whatever it throws after its limit', async () => {
    await using world = openWorkers()
    const seen = errorsOf()
    const broken = new Error('broken by the abort')
    world.wake.notifyOne()
    world.play({ timeout: 100, listeners: [seen] }, { takes: 150, ends: broken }, idle())

    await world.clock.advance(200)

    expect(seen.errors[0]).toBeInstanceOf(TimeoutError)
    expect((seen.errors[0] as TimeoutError).cause).toBe(broken)
  })

  test('has failed with its own error when it throws before its limit', async () => {
    await using world = openWorkers()
    const seen = errorsOf()
    const broken = new Error('broken')
    world.wake.notifyOne()
    world.play({ timeout: 100, listeners: [seen] }, { takes: 50, ends: broken }, idle())

    await world.clock.advance(200)

    expect(seen.errors).toEqual([broken])
  })

  test('has succeeded when it succeeds late', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { it, times } = world.play({ timeout: 100 }, { takes: 150, ends: sleep(10) })

    await world.clock.advance(200)

    expect(times).toEqual([0, 160])
    expect(it.health()).toMatchObject({ state: 'sleeping', failures: 0 })
  })

  test('that ignores its signal is reported, and the next pass waits for its end', async () => {
    await using world = openWorkers()
    const held = heldPass()
    world.wake.notifyOne()
    world.start('deaf', { timeout: 100 }, held.pass)
    world.wakeAt([10])

    await world.clock.advance(199)
    expect(world.log.at('warn')).toEqual([])
    await world.clock.advance(1000)
    expect(world.log.at('warn')).toEqual(['pass ignores its abort signal and is still running'])
    expect(held.contexts).toHaveLength(1)
    held.release(idle())
    await world.clock.advance(0)

    expect(held.contexts).toHaveLength(2)
    expect(held.contexts[1]!.signal.aborted).toBe(false)
    held.release(idle())
    await world.clock.advance(0)
  })

  test('sees its signal abort with a CancelledError when a stop has waited long enough', async () => {
    await using world = openWorkers()
    const reasons: unknown[] = []
    world.wake.notifyOne()
    const it = world.start('slow', { timeout: '1m' }, async ({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      await wait(world.clock, 120_000, signal)
      return idle()
    })
    await world.clock.advance(0)

    const report = await world.clock.until(it.stop({ within: 100 }))

    expect(report.stragglers).toEqual([])
    expect(world.clock.now()).toBe(80)
    expect(reasons[0]).toBeInstanceOf(CancelledError)
    expect(it.health().failures).toBe(0)
  })

  test('sees a stop begin through ctx.stopping', async () => {
    await using world = openWorkers()
    const held = heldPass()
    world.wake.notifyOne()
    const it = world.start('held', { timeout: '1m' }, held.pass)
    await world.clock.advance(0)

    const stopped = it.stop()
    expect(held.contexts[0]!.stopping.aborted).toBe(true)
    held.release(idle())

    await expect(stopped).resolves.toEqual({ stragglers: [] })
  })

  test('dies of the TimeoutError under onThrow: propagate', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const it = world.start('slow', { timeout: 100, onThrow: 'propagate' }, async (ctx) => {
      await wait(world.clock, 60_000, ctx.signal)
      return idle()
    })

    await expect(world.clock.until(it.done)).rejects.toBeInstanceOf(TimeoutError)
  })

  test('leaves nothing on the signal of its worker', async () => {
    const clock = virtualClock()
    const { signal } = new AbortController()
    const ctx = { signal, stopping: signal, log: silentLog }

    await timedPass(async () => idle(), ctx, clock, 100)
    await expect(timedPass(failing, ctx, clock, 100)).rejects.toThrow('broken')

    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('may have any number of listeners on its signal without a warning', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    const { signal } = new AbortController()
    const ctx = { signal, stopping: signal, log: silentLog }

    await timedPass(listen, ctx, virtualClock(), 100)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)

    expect(warnings).toEqual([])
  })

  test('begins with an aborted signal when its worker has to end already', async () => {
    const reason = new Error('end now')
    const signal = AbortSignal.abort(reason)
    const ctx = { signal, stopping: signal, log: silentLog }
    let seen: unknown

    const look = async (given: { signal: AbortSignal }) => {
      seen = given.signal.reason
      return idle()
    }
    await timedPass(look, ctx, virtualClock(), 100)

    expect(seen).toBe(reason)
  })
})
