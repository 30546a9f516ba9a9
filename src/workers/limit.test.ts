import { describe, expect, test } from 'vitest'

import { FairSemaphore } from '../base/sync/semaphore.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { openWorkers } from '../../test/support/workers.ts'
import { Bulkhead } from './bulkhead.ts'
import { resolveLimit } from './limit.ts'

function tiered(guaranteed: FairSemaphore, shared: FairSemaphore): Bulkhead {
  return new Bulkhead(resolveLimit({ guaranteed, shared }, 'limit'))
}

function fixed(only: FairSemaphore): Bulkhead {
  return new Bulkhead(resolveLimit({ fixed: only }, 'limit'))
}

describe('a fixed limit', () => {
  test('grants a free permit at once [acquire_with_permit]', () => {
    const only = new FairSemaphore(1)

    const permit = fixed(only).tryEnter()

    expect(permit).toBeDefined()
    expect(only.free).toBe(0)
    permit![Symbol.dispose]()
    expect(only.free).toBe(1)
  })

  test('rejects a waiter that gives up [acquire_cancel_during_wait]', async () => {
    const clock = virtualClock()
    const only = new FairSemaphore(0)
    const application = fixed(only).apply()
    clock.after(10, () => application.withdraw())

    const permit = await clock.until(application.outcome)

    expect(permit).toBeUndefined()
    expect(clock.now()).toBe(10)
  })

  test('grants nothing to a worker that is already stopped [acquire_already_cancelled]', async () => {
    await using world = openWorkers()
    const only = new FairSemaphore(1)
    world.wake.notifyOne()
    const { it, times } = world.play({ limit: { fixed: only } })

    await it.stop()

    expect(times).toEqual([])
    expect(only.free).toBe(1)
    await expect(only.acquire(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  })

  test('rejects every waiter when its semaphore is closed [acquire_closed_semaphore]', async () => {
    const only = new FairSemaphore(1)
    only.close()
    const it = fixed(only)

    expect(it.tryEnter()).toBeUndefined()
    expect(await it.apply().outcome).toBeUndefined()
  })

  test('rejects a waiter when its semaphore closes', async () => {
    const only = new FairSemaphore(0)
    const application = fixed(only).apply()

    only.close()

    expect(await application.outcome).toBeUndefined()
  })

  test('keeps a permit for others when its waiter gave up', () => {
    const only = new FairSemaphore(1)
    const it = fixed(only)
    const held = it.tryEnter()
    it.apply().withdraw()

    held![Symbol.dispose]()

    expect(only.free).toBe(1)
  })
})

describe('no limit', () => {
  test('lets a worker run without a permit [acquire_no_semaphore]', async () => {
    await using world = openWorkers()
    world.wake.notifyOne()
    const { times } = world.play({})

    await world.clock.advance(0)

    expect(new Bulkhead().unlimited).toBe(true)
    expect(times).toEqual([0])
  })
})

describe('a tiered limit', () => {
  test('takes a shared permit first [priority_prefers_shared_when_both_available]', () => {
    const [guaranteed, shared] = [new FairSemaphore(1), new FairSemaphore(1)]

    expect(tiered(guaranteed, shared).tryEnter()).toBeDefined()
    expect([guaranteed.free, shared.free]).toEqual([1, 0])
  })

  test('takes a guaranteed permit when the shared ones are out [priority_falls_back_to_guaranteed_when_shared_exhausted]', () => {
    const [guaranteed, shared] = [new FairSemaphore(1), new FairSemaphore(0)]

    expect(tiered(guaranteed, shared).tryEnter()).toBeDefined()
    expect([guaranteed.free, shared.free]).toEqual([0, 0])
  })

  test('takes a shared permit when the guaranteed ones are out [priority_acquires_shared_when_guaranteed_exhausted]', () => {
    const [guaranteed, shared] = [new FairSemaphore(0), new FairSemaphore(1)]

    expect(tiered(guaranteed, shared).tryEnter()).toBeDefined()
    expect([guaranteed.free, shared.free]).toEqual([0, 0])
  })

  test('rejects a waiter that gives up at both [priority_cancel_during_wait]', async () => {
    const clock = virtualClock()
    const application = tiered(new FairSemaphore(0), new FairSemaphore(0)).apply()
    clock.after(10, () => application.withdraw())

    const permit = await clock.until(application.outcome)

    expect(permit).toBeUndefined()
    expect(clock.now()).toBe(10)
  })

  test.each(['guaranteed', 'shared'] as const)(
    'waits until a %s permit comes back [priority_blocks_when_neither_available]',
    async (first) => {
      const clock = virtualClock()
      const gates = { guaranteed: new FairSemaphore(1), shared: new FairSemaphore(1) }
      const held = {
        guaranteed: gates.guaranteed.tryAcquire()!,
        shared: gates.shared.tryAcquire()!,
      }
      const application = tiered(gates.guaranteed, gates.shared).apply()
      clock.after(20, () => held[first][Symbol.dispose]())

      const permit = await clock.until(application.outcome, { within: 100 })

      expect(clock.now()).toBe(20)
      permit![Symbol.dispose]()
      expect(gates[first].free).toBe(1)
    },
  )

  test('takes one permit when both come back together', async () => {
    const [guaranteed, shared] = [new FairSemaphore(1), new FairSemaphore(1)]
    const held = [guaranteed.tryAcquire()!, shared.tryAcquire()!]
    const application = tiered(guaranteed, shared).apply()

    for (const permit of held) permit[Symbol.dispose]()
    await application.outcome

    expect([guaranteed.free, shared.free]).toEqual([0, 1])
  })

  test('keeps working with one gate when the other is closed', async () => {
    const [guaranteed, shared] = [new FairSemaphore(1), new FairSemaphore(0)]
    const held = guaranteed.tryAcquire()!
    const application = tiered(guaranteed, shared).apply()
    shared.close()

    held[Symbol.dispose]()

    expect(await application.outcome).toBeDefined()
  })

  test('refuses when both gates close', async () => {
    const [guaranteed, shared] = [new FairSemaphore(0), new FairSemaphore(0)]
    shared.close()
    const application = tiered(guaranteed, shared).apply()

    guaranteed.close()

    expect(await application.outcome).toBeUndefined()
  })
})

describe('a given limit', () => {
  const good = new FairSemaphore(1)

  test.each([
    [null, 'limit must be { fixed } or { guaranteed, shared }, got null'],
    [3, 'limit must be { fixed } or { guaranteed, shared }, got 3'],
    [{}, 'limit.shared must be made by semaphore(), got undefined'],
    [{ fixed: 3 }, 'limit.fixed must be made by semaphore(), got 3'],
    [{ shared: good }, 'limit.guaranteed must be made by semaphore(), got undefined'],
    [{ guaranteed: good, shared: {} }, 'limit.shared must be made by semaphore(), got an object'],
    [{ fixed: good, shared: good }, 'limit: unknown part "shared"; the known parts are fixed'],
    [{ fixd: good }, 'limit: unknown part "fixd"; the known parts are shared, guaranteed'],
  ])('%j is refused by name and value', (given, message) => {
    expect(() => resolveLimit(given, 'limit')).toThrow(new TypeError(message))
  })
})
