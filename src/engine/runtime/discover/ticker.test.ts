import { expect, test } from 'vitest'

import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import type { Clock } from '../../../base/time/clock.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import type { LeaseAnswer, TickAnswer } from '../../../store/runtimes.ts'
import { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import type { CommandRunner } from '../schedule/command-runner.ts'
import type { Claimer } from './claimer.ts'
import type { Ownership } from './ownership.ts'
import type { OwnedTaskSet } from './ports.ts'
import { Registration } from './registration.ts'
import { Ticker } from './ticker.ts'
import type { WorkFinder } from './work-finder.ts'

/** What a store answers to a tick when there is nothing to do. */
const NOTHING_TO_DO: Extract<TickAnswer, { state: 'ok' }> = {
  state: 'ok',
  clock: 0,
  server: '',
  mail: [],
  claimable: false,
  nextDue: null,
  nextTask: null,
  nextSchedule: null,
  stranded: [],
  wanted: [],
  helped: [],
  undelivered: { late: 0, early: 0 },
  soon: false,
}

/** The ticker of a runtime that owns nothing, with a lease of two seconds by default. */
function openTicker(clock: Clock, store: object, leaseMs = 2_000) {
  const core = testCore(clock, { store: { tick: async () => NOTHING_TO_DO, ...store } })
  const loop = { shared: new SharedLoopHeartbeat(), isKept: false, renewed() {} }
  const numbers = new WorkflowNumbers({ ...core, isClosing: () => false })
  const request = { leaseMs, workflows: [], info: '' }
  const registration = new Registration(core, loop, numbers, request)
  let lapses = 0
  const losses = {
    takenOver() {},
    rolledBack: () => 0,
    leaseLapsed: async () => void lapses++,
    serverChanged: () => Promise.reject(new Error('it did not')),
  }
  registration.reportTo(losses, { lookAgain() {} })
  const ticker = new Ticker(
    core,
    registration,
    partOf<WorkFinder>({ claimer: partOf<Claimer>({ tick() {} }) }),
    partOf<Ownership>({ dropLostOfSome: async () => {} }),
    partOf<CommandRunner>({ unknownActivities: [] }),
    {
      tasks: { owned: partOf<OwnedTaskSet>({ keys: () => [] }) },
      claimer: { interest: null, wakeAt() {} },
      longWaits: { helpedWith() {} },
      slots: { idle: true },
    },
    { lookAt() {} },
  )
  return { ticker, lease: registration.lease, log: core.log, lapses: () => lapses }
}

test('messages that no instance will receive are counted over all ticks, and logged', async () => {
  const counts = [
    { late: 2, early: 0 },
    { late: 0, early: 0 },
    { late: 1, early: 7 },
  ]
  const { ticker, log } = openTicker(virtualClock(), {
    tick: async () => ({ ...NOTHING_TO_DO, undelivered: counts.shift() }),
  })

  while (counts.length > 0) await ticker.ask()

  expect(ticker.undelivered).toEqual({ late: 3, early: 7 })
  expect(log.lines).toEqual([
    { level: 'warn', message: LATE, data: { messages: 2 } },
    { level: 'warn', message: LATE, data: { messages: 1 } },
    { level: 'warn', message: EARLY, data: { messages: 7 } },
  ])
})

const LATE = 'messages dropped: their instance had ended'
const EARLY = 'messages expired: their instance was never started'

test('a lease is renewed apart from ticks, even while every tick fails', async () => {
  const clock = virtualClock()
  const renewed: number[] = []
  const { ticker, lease } = openTicker(clock, {
    async renewLease() {
      renewed.push(clock.now())
      return { state: 'ok', clock: 0 }
    },
    tick: () => Promise.reject(new Error('canceling statement due to statement timeout')),
  })

  for (let n = 0; n < 12; n++) {
    await clock.advance(500)
    await expect(ticker.ask()).rejects.toThrow('timeout')
    expect(lease.isValid).toBe(true)
  }

  expect(renewed.length).toBeGreaterThan(10)
})

test('ticks that come early renew nothing', async () => {
  const clock = virtualClock()
  let renewals = 0
  const { ticker } = openTicker(clock, {
    async renewLease() {
      renewals++
      return { state: 'ok', clock: 0 }
    },
  })

  for (let n = 0; n < 10; n++) await ticker.ask()
  expect(renewals).toBe(0)

  await clock.advance(1_000)
  for (let n = 0; n < 10; n++) await ticker.ask()
  expect(renewals).toBe(1)
})

const renewLease = async (): Promise<LeaseAnswer> => ({ state: 'ok', clock: 0 })

test('ticks come every second while the store asks for the next one soon', async () => {
  const clock = virtualClock()
  let ticks = 0
  let soon = true
  const tick = async (): Promise<TickAnswer> => {
    ticks++
    return { ...NOTHING_TO_DO, soon }
  }
  const { ticker } = openTicker(clock, { tick, renewLease }, 30_000)
  await using _ = ticker.work()
  const ticksIn = async (seconds: number): Promise<number> => {
    const before = ticks
    for (let n = 0; n < seconds; n++) await clock.advance(1_000)
    return ticks - before
  }

  await ticksIn(10)
  expect(await ticksIn(10)).toBe(10)
  soon = false
  await ticksIn(1)
  expect(await ticksIn(30)).toBe(3)
})

test('a lease that is wanted is renewed at once by the loop', async () => {
  const clock = virtualClock()
  let renewals = 0
  const { ticker, lease } = openTicker(clock, {
    async renewLease() {
      renewals++
      return { state: 'ok', clock: 0 }
    },
  })
  await using _ = ticker.work()

  lease.request()
  await clock.advance(1)

  expect(renewals).toBe(1)
})

test('a step of the clock renews the lease at once, and once', async () => {
  let renewals = 0
  let fails = true
  const { ticker, lease } = openTicker(virtualClock(), {
    async renewLease() {
      renewals++
      if (fails) throw new Error('no connection')
      return { state: 'ok', clock: 0 }
    },
  })

  lease.request()
  await expect(ticker.ask()).rejects.toThrow('no connection')
  fails = false
  for (let n = 0; n < 10; n++) await ticker.ask()

  expect(renewals).toBe(2)
})

test('an answer from before the machine was suspended does not make a lease valid', async () => {
  const clock = virtualClock()
  let aheadMs = 0
  const dated = { ...clock, date: () => new Date(clock.date().getTime() + aheadMs) }
  const suspended = [600_000, 0]
  const { ticker, lease, lapses } = openTicker(dated, {
    async renewLease() {
      // Neither the process's clock nor that of the thread sees it.
      aheadMs += suspended.shift()!
      return { state: 'ok', clock: 0 }
    },
  })
  await clock.advance(1_000)

  await ticker.ask()
  expect(lease.isValid).toBe(false)
  expect(lapses()).toBe(1)

  await ticker.ask()
  expect(lease.isValid).toBe(true)
  expect(lapses()).toBe(2)
})
