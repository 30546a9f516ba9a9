import { expect, test } from 'vitest'

import type { Clock } from '../../base/clock.ts'
import { virtualClock } from '../../base/virtual-clock.ts'
import { Ticker, type TickHost } from './ticker.ts'

/** What is needed to know whether a lease holds. */
function hostOn(clock: Clock, pulse = { isKept: false, renewed() {} }): TickHost {
  return { clock, leaseMs: 2_000, pulse } as unknown as TickHost
}

test('the answer to a tick from before a freeze lets nothing start', async () => {
  const clock = virtualClock()
  const ticker = new Ticker(hostOn(clock))
  await clock.advance(5_000)
  let mayStart = false
  const waiting = ticker.leaseHolds()!.then(() => (mayStart = true))

  ticker.renewedAt(10)
  await clock.advance(1)
  expect(mayStart).toBe(false)

  ticker.renewedAt(clock.now())
  await waiting
  expect(ticker.leaseHolds()).toBeUndefined()
})

test('a lease that a thread renewed holds, however long the loop stood still', async () => {
  const clock = virtualClock()
  const pulse = { isKept: true, renewed() {} }
  const ticker = new Ticker(hostOn(clock, pulse))
  await clock.advance(5_000)

  expect(ticker.leaseHolds()).toBeUndefined()
  pulse.isKept = false
  expect(ticker.leaseHolds()).toBeDefined()
})
