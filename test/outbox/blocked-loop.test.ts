import { expect, test } from 'vitest'
import { Membership } from '../../src/outbox/membership.ts'
import { CLIENT_ACCESS, type ClientWithAccess } from '../../src/store/client-access.ts'
import { eventually } from '../support/engine.ts'
import { describeOutbox } from './support.ts'

const LEASE_MS = 2_000

describeOutbox('an event loop that is blocked for longer than a lease', (place) => {
  test('does not lose its partitions: a thread renews the lease', async () => {
    const { store, clock, open } = (place.client() as unknown as ClientWithAccess)[CLIENT_ACCESS]
    await open()
    const outbox = store.outbox!('outbox')
    await outbox.open()
    const join = async (): Promise<Membership> => {
      const setup = { clock, log: place.log, info: 'test', leaseMs: LEASE_MS }
      const membership = new Membership(store, outbox, setup)
      await membership.register()
      return membership
    }
    const blocked = await join()
    const leaseUntil = async (): Promise<number> => {
      const sql = 'select lease_until as at from runtimes where runtime = ?'
      return Number((await place.sql<{ at: number | string }>(sql, blocked.number))[0]!.at)
    }
    const first = await leaseUntil()
    await eventually(async () => (await leaseUntil()) > first)

    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * LEASE_MS)
    const witness = await join()
    await witness.tick()

    expect(await blocked.tick()).toBeDefined()
    await blocked.leave()
    await witness.leave()
  })
})
