import { expect, test } from 'vitest'

import { virtualClock } from '../../base/virtual-clock.ts'
import { Ticker, type TickHost } from './ticker.ts'

test('the answer to a tick from before a freeze lets nothing start', async () => {
  const clock = virtualClock()
  const ticker = new Ticker({ clock, leaseMs: 2_000 } as unknown as TickHost)
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
