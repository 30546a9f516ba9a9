import { expect, test } from 'vitest'

import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { LongWaits } from './long-waits.ts'
import type { Slots } from './slots.ts'

/** Slots that are all taken, while another runtime is idle. */
function openBusySlots() {
  const clock = virtualClock()
  const closing = new AbortController()
  let checks = 0
  const waitingFor = (): [] => {
    checks++
    return []
  }
  const core = testCore(clock, { closing: closing.signal })
  const waits = new LongWaits(core, partOf<Slots>({ idle: false, waitingFor }))
  waits.reportTo({ leaveToOthers: () => {} })
  waits.helpedWith(['charge'])
  return { clock, closing, checks: () => checks }
}

test('activities that wait for a slot are checked periodically', async () => {
  const { clock, checks } = openBusySlots()

  await clock.advance(1_000)

  expect(checks()).toBe(6)
})

test('a runtime that closes looks no more, even while its slots stay taken', async () => {
  const { clock, closing, checks } = openBusySlots()

  closing.abort()
  await clock.advance(1_000)

  expect(checks()).toBe(1)
})
