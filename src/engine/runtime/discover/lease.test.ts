import { expect, test } from 'vitest'

import type { Clock } from '../../../base/time/clock.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { Lease } from './lease.ts'

function leaseOn(clock: Clock, loop = { isKept: false, renewed() {} }): Lease {
  return new Lease(clock, loop, 2_000)
}

test('the answer to a renewal from before a freeze lets nothing start', async () => {
  const clock = virtualClock()
  const lease = leaseOn(clock)
  await clock.advance(5_000)
  let mayStart = false
  const waiting = lease.untilValid()!.then(() => (mayStart = true))

  lease.renewed(10, clock.date().getTime() - clock.now() + 10)
  await clock.advance(1)
  expect(mayStart).toBe(false)

  lease.renewed(clock.now(), clock.date().getTime())
  await waiting
  expect(lease.untilValid()).toBeUndefined()
})

test('a lease that a thread renewed holds, however long the event loop was blocked', async () => {
  const clock = virtualClock()
  const loop = { isKept: true, renewed() {} }
  const lease = leaseOn(clock, loop)
  await clock.advance(5_000)

  expect(lease.untilValid()).toBeUndefined()
  loop.isKept = false
  expect(lease.untilValid()).toBeDefined()
})

test('waiting for a lease asks for its renewal, before every answer', async () => {
  const clock = virtualClock()
  const lease = leaseOn(clock)
  await clock.advance(5_000)

  const waiting = lease.untilValid()!
  await lease.wanted.wait()
  lease.renewed(10, clock.date().getTime() - clock.now() + 10)
  await lease.wanted.wait()
  lease.renewed(clock.now(), clock.date().getTime())

  await waiting
  expect(lease.isValid).toBe(true)
})

test.each([
  ['while the machine was suspended', 3_600_000],
  ['when it was moved forward', 60_000],
  ['when it was moved back', -3_600_000],
])('a calendar that jumped %s lets nothing start before a renewal', async (_, byMs) => {
  const clock = virtualClock()
  let aheadMs = 0
  const dated = { ...clock, date: () => new Date(clock.date().getTime() + aheadMs) }
  // The thread's clock stopped as well.
  const lease = leaseOn(dated, { isKept: true, renewed() {} })
  await clock.advance(500)
  expect(lease.untilValid()).toBeUndefined()
  aheadMs = byMs

  let mayStart = false
  const waiting = lease.untilValid()!.then(() => (mayStart = true))
  await clock.advance(1)
  expect(mayStart).toBe(false)
  lease.renewed(clock.now(), dated.date().getTime())
  await waiting

  expect(lease.untilValid()).toBeUndefined()
})
