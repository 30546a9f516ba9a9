import { expect, test, vi } from 'vitest'

import { testCore } from '../../../../test/support/runtime-core.ts'
import { type Clock, systemClock } from '../../../base/time/clock.ts'
import { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import { Registration } from './registration.ts'

/** A registration with a store that gives out the numbers 1, 2, 3; what happens is written down. */
function openRegistration(clock: Clock = systemClock()) {
  const did: string[] = []
  let last = 0
  const store = {
    register: vi.fn<WorkflowStore['register']>(async () => {
      did.push(`registered ${++last}`)
      return { runtime: last, server: 'a', clock: 0, workflows: [] }
    }),
    unregister: vi.fn<WorkflowStore['unregister']>(async () => {}),
  }
  const core = testCore(clock, { store })
  const loop = { shared: new SharedLoopHeartbeat(), isKept: false, renewed() {} }
  const numbers = new WorkflowNumbers({ ...core, isClosing: () => false })
  const request = { leaseMs: 1_000, workflows: [], info: '' }
  const registration = new Registration(core, loop, numbers, request)
  const losses = {
    takenOver: () => void did.push('taken over'),
    rolledBack: () => did.push('rolled back'),
    leaseLapsed: async () => void did.push('lapsed'),
    serverChanged: async () => ({ server: 'b', instances: 2, lost: new Set([7]) }),
  }
  registration.reportTo(losses, { lookAgain: () => void did.push('looks again') })
  return { registration, store, shared: loop.shared, did }
}

test('several loops that learn of the same death wait for one re-registration', async () => {
  const { registration, shared, did } = openRegistration()
  await registration.register()

  await Promise.all([registration.onDead(1), registration.onDead(1)])
  await registration.onDead(1)

  expect(did).toEqual(['registered 1', 'taken over', 'registered 2', 'looks again'])
  expect([registration.number, shared.runtime]).toEqual([2, 2])
  expect(registration.isDead(1)).toBe(true)
  expect(registration.isDead(2)).toBe(false)
})

test('a runtime that was closed on purpose does not come back', async () => {
  const { registration, store, did } = openRegistration()
  await registration.register()

  await registration.unregister(1_000)
  await registration.onDead(1)

  expect(store.unregister).toHaveBeenCalledExactlyOnceWith(1)
  expect(did).toEqual(['registered 1'])
})

test('unregistering does not wait for a store that does not answer', async () => {
  const { registration, store } = openRegistration()
  await registration.register()
  store.unregister.mockReturnValueOnce(new Promise(() => {}))

  await expect(registration.unregister(1)).rejects.toMatchObject({
    code: 'connection_lost',
    message: expect.stringContaining('take over when the lease has expired'),
  })
})

test('after a failover it is dead at once, and frees what it owned when the store answers', async () => {
  const { registration, store, did } = openRegistration()
  await registration.register()
  store.register.mockRejectedValueOnce(new StoreError('connection_lost', 'register', 'cut'))

  registration.rollBack()
  registration.rollBack()
  expect(registration.isDead(1)).toBe(true)
  await vi.waitUntil(() => did.includes('looks again'))

  expect(did).toEqual(['registered 1', 'rolled back', 'registered 2', 'looks again'])
  expect(store.unregister).toHaveBeenCalledExactlyOnceWith(1)
  expect(registration.rollBacks).toBe(1)
})

test('after a server change, its name is recorded, and instances that it lacks are returned', async () => {
  const { registration, did } = openRegistration()
  await registration.register()

  const lost = await registration.onServerChange()

  expect([...lost]).toEqual([7])
  expect(registration.identity).toEqual({ runtime: 1, server: 'b' })
  expect(did).toEqual(['registered 1'])
})

test('its lease counts from the request, by the calendar as well', async () => {
  let dateMs = 1_000
  const clock = { ...systemClock(), now: () => 5, date: () => new Date(dateMs) }
  const { registration, store } = openRegistration(clock)
  const renewed = vi.spyOn(registration.lease, 'renewed')
  store.register.mockImplementationOnce(async () => {
    // The machine is suspended while the answer is on its way.
    dateMs += 600_000
    return { runtime: 1, server: 'a', clock: 0, workflows: [] }
  })

  await registration.register()

  expect(renewed).toHaveBeenCalledExactlyOnceWith(5, 1_000)
  expect(registration.lease.isValid).toBe(false)
})
