import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../base/time/clock.ts'
import { silentLog } from '../../../base/log.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { Registration, type RegistrationHost } from './registration.ts'

/** A life over a store that gives out the numbers 1, 2, 3; what happens to it is written down. */
function alife() {
  const did: string[] = []
  let last = 0
  const store = {
    register: vi.fn<WorkflowStore['register']>(async () => ({
      runtime: ++last,
      server: 'a',
      clock: 0,
      workflows: [],
    })),
    unregister: vi.fn<WorkflowStore['unregister']>(async () => {}),
  }
  const registration = new Registration({
    store,
    clock: systemClock(),
    log: silentLog,
    request: { leaseMs: 1_000, workflows: [], info: '' },
    registered: ({ runtime }) => void did.push(`registered ${runtime}`),
    takenOver: () => void did.push('taken over'),
    rollBack: () => void did.push('set back'),
    owned: () => 0,
    goOn: () => void did.push('goes on'),
    dropUnknown: async () => ({ server: 'b', instances: 2, lost: new Set([7]) }),
    serverChanged: () => void did.push('server changed'),
    isClosing: () => false,
  })
  return { registration, store, did }
}

test('a death that several loops are told of is seen to once, and all of them wait for it', async () => {
  const { registration, did } = alife()
  await registration.register()

  await Promise.all([registration.onDead(1), registration.onDead(1)])
  await registration.onDead(1)

  expect(did).toEqual(['registered 1', 'taken over', 'registered 2', 'goes on'])
  expect(registration.identity.runtime).toBe(2)
  expect(registration.isDead(1)).toBe(true)
  expect(registration.isDead(2)).toBe(false)
})

test('one that was ended on purpose does not come back', async () => {
  const { registration, store, did } = alife()
  await registration.register()

  await registration.unregister(1_000)
  await registration.onDead(1)

  expect(store.unregister).toHaveBeenCalledExactlyOnceWith(1)
  expect(did).toEqual(['registered 1'])
})

test('one that is ended does not wait for a store that does not answer', async () => {
  const { registration, store } = alife()
  await registration.register()
  store.unregister.mockReturnValueOnce(new Promise(() => {}))

  await expect(registration.unregister(1)).rejects.toMatchObject({
    code: 'connection_lost',
    message: expect.stringContaining('may go on only when its lease has ended'),
  })
})

test('one that is set back is dead at once, and frees what it had when the store answers', async () => {
  const { registration, store, did } = alife()
  await registration.register()
  store.register.mockRejectedValueOnce(new StoreError('connection_lost', 'register', 'cut'))

  registration.rollBack()
  registration.rollBack()
  expect(registration.isDead(1)).toBe(true)
  await vi.waitUntil(() => did.includes('goes on'))

  expect(did).toEqual(['registered 1', 'set back', 'registered 2', 'goes on'])
  expect(store.unregister).toHaveBeenCalledExactlyOnceWith(1)
  expect(registration.rollBacks).toBe(1)
})

test('another server is named from then on, and what it lacks is told', async () => {
  const { registration, did } = alife()
  await registration.register()

  const lost = await registration.onServerChange()

  expect([...lost]).toEqual([7])
  expect(registration.identity).toEqual({ runtime: 1, server: 'b' })
  expect(did).toEqual(['registered 1', 'server changed'])
})

test('its lease counts from when it was asked for, by the calendar as well', async () => {
  const clock = systemClock()
  let dateMs = 1_000
  const registered = vi.fn<RegistrationHost['registered']>()
  const registration = new Registration({
    clock: { ...clock, now: () => 5, date: () => new Date(dateMs) },
    store: {
      async register() {
        // The machine is suspended while the answer is on its way.
        dateMs += 600_000
        return { runtime: 1, server: 'a', clock: 0, workflows: [] }
      },
    },
    registered,
  } as unknown as RegistrationHost)

  await registration.register()

  expect(registered.mock.calls[0]!.slice(1)).toEqual([5, 1_000])
})
