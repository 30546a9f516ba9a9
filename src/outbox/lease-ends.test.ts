import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { LeaseEnds } from './lease-ends.ts'

const TICK_MS = 10_000

/** Whether a tick was asked for since the last time. */
const isAsked = (ends: LeaseEnds): boolean => ends.tickNow.takePermit()

test('a tick is asked for when the lease of a silent process has ended', async () => {
  const clock = virtualClock()
  const ends = new LeaseEnds(clock, TICK_MS)
  ends.ticked(3, { clock: 50_000, leaseEndsAt: 54_000 })

  await clock.advance(4_000)
  const atItsEnd = isAsked(ends)
  await clock.advance(1_000)

  expect([atItsEnd, isAsked(ends)]).toEqual([false, true])
  await clock.advance(60_000)
  expect(isAsked(ends)).toBe(false)
})

test('processes do not all look in the same moment', async () => {
  const clock = virtualClock()
  const [one, other] = [new LeaseEnds(clock, TICK_MS), new LeaseEnds(clock, TICK_MS)]
  one.ticked(1, { clock: 0, leaseEndsAt: 1_000 })
  other.ticked(2, { clock: 0, leaseEndsAt: 1_000 })

  await clock.advance(1_100)

  expect([isAsked(one), isAsked(other)]).toEqual([true, false])
})

test.each([
  ['there is no other process', null],
  ['the next tick comes before', TICK_MS],
])('none is asked for when %s', async (_, leaseEndsAt) => {
  const clock = virtualClock()
  const ends = new LeaseEnds(clock, TICK_MS)
  ends.ticked(1, { clock: 0, leaseEndsAt })

  await clock.advance(60_000)

  expect(isAsked(ends)).toBe(false)
})

test('a later tick that finds the lease renewed takes it back, and so does the end', async () => {
  const clock = virtualClock()
  const ends = new LeaseEnds(clock, TICK_MS)
  ends.ticked(1, { clock: 0, leaseEndsAt: 1_000 })
  ends.ticked(1, { clock: 500, leaseEndsAt: 30_000 })
  await clock.advance(5_000)
  ends.ticked(1, { clock: 0, leaseEndsAt: 1_000 })
  ends.close()
  await clock.advance(5_000)

  expect(isAsked(ends)).toBe(false)
})
