import { expect, test } from 'vitest'

import { memoryLog } from '../../../../test/support/workers.ts'
import type { Clock } from '../../../base/time/clock.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { TickAnswer } from '../../../store/runtimes.ts'
import { Ticker, type TickHost } from './ticker.ts'

/** What is needed to know whether a lease holds. */
function hostOn(clock: Clock, heartbeat = { isKept: false, renewed() {} }): TickHost {
  return { clock, leaseMs: 2_000, heartbeat } as unknown as TickHost
}

test('the answer to a tick from before a freeze lets nothing start', async () => {
  const clock = virtualClock()
  const ticker = new Ticker(hostOn(clock))
  await clock.advance(5_000)
  let mayStart = false
  const waiting = ticker.leaseHolds()!.then(() => (mayStart = true))

  ticker.renewedAt(10, clock.date().getTime() - clock.now() + 10)
  await clock.advance(1)
  expect(mayStart).toBe(false)

  ticker.renewedAt(clock.now(), clock.date().getTime())
  await waiting
  expect(ticker.leaseHolds()).toBeUndefined()
})

test('a lease that a thread renewed holds, however long the loop stood still', async () => {
  const clock = virtualClock()
  const heartbeat = { isKept: true, renewed() {} }
  const ticker = new Ticker(hostOn(clock, heartbeat))
  await clock.advance(5_000)

  expect(ticker.leaseHolds()).toBeUndefined()
  heartbeat.isKept = false
  expect(ticker.leaseHolds()).toBeDefined()
})

test.each([
  ['while the machine was suspended', 3_600_000],
  ['when it was set forward', 60_000],
  ['when it was set back', -3_600_000],
])('a calendar that went its own way %s lets nothing start before a renewal', async (_, byMs) => {
  const clock = virtualClock()
  let aheadMs = 0
  const dated = { ...clock, date: () => new Date(clock.date().getTime() + aheadMs) }
  // The thread's clock stood still as well.
  const ticker = new Ticker(hostOn(dated, { isKept: true, renewed() {} }))
  await clock.advance(500)
  expect(ticker.leaseHolds()).toBeUndefined()
  aheadMs = byMs

  let mayStart = false
  const waiting = ticker.leaseHolds()!.then(() => (mayStart = true))
  await clock.advance(1)
  expect(mayStart).toBe(false)
  ticker.renewedAt(clock.now(), dated.date().getTime())
  await waiting

  expect(ticker.leaseHolds()).toBeUndefined()
})

test('messages that nobody will receive are counted over all ticks, and told of', async () => {
  const clock = virtualClock()
  const log = memoryLog()
  const counts = [
    { late: 2, early: 0 },
    { late: 0, early: 0 },
    { late: 1, early: 7 },
  ]
  const store = { tick: async () => ({ ...NOTHING_TO_DO, undelivered: counts.shift() }) }
  const ticker = new Ticker({ ...idleHost(), ...hostOn(clock), log, store } as unknown as TickHost)

  while (counts.length > 0) await ticker.ask()

  expect(ticker.undelivered).toEqual({ late: 3, early: 7 })
  expect(log.lines).toEqual([
    { level: 'warn', message: LATE, data: { messages: 2 } },
    { level: 'warn', message: LATE, data: { messages: 1 } },
    { level: 'warn', message: EARLY, data: { messages: 7 } },
  ])
})

const LATE = 'messages came after the end of their instance'
const EARLY = 'messages expired: their instance was never started'

/** What a store answers to a tick, but for what it removed. */
const NOTHING_TO_DO: Omit<Extract<TickAnswer, { state: 'ok' }>, 'undelivered'> = {
  state: 'ok',
  clock: 0,
  server: '',
  mail: [],
  claimable: false,
  nextDue: null,
  nextTask: null,
  stranded: [],
  wanted: [],
  helped: [],
}

/** A runtime that has nothing. */
function idleHost(): Partial<TickHost> {
  return {
    runtimeNumber: () => 1,
    workflowNumbers: () => [],
    taskInterest: () => null,
    unknownActivities: () => [],
    heldTasks: () => [],
    isIdle: () => true,
    helpedWith() {},
    sawTime() {},
    compare: async () => {},
  }
}

test('a lease is renewed by itself, also while every tick fails', async () => {
  const clock = virtualClock()
  const renewed: number[] = []
  const store = {
    async renewLease() {
      renewed.push(clock.now())
      return { state: 'ok', clock: 0 }
    },
    tick: () => Promise.reject(new Error('canceling statement due to statement timeout')),
  }
  const ticker = new Ticker({ ...idleHost(), ...hostOn(clock), store } as unknown as TickHost)

  for (let n = 0; n < 12; n++) {
    await clock.advance(500)
    await expect(ticker.ask()).rejects.toThrow('timeout')
    expect(ticker.leaseHolds()).toBeUndefined()
  }

  expect(renewed.length).toBeGreaterThan(10)
})

test('ticks that come early renew nothing', async () => {
  const clock = virtualClock()
  let renewals = 0
  const store = {
    async renewLease() {
      renewals++
      return { state: 'ok', clock: 0 }
    },
    tick: async () => ({ ...NOTHING_TO_DO, undelivered: { late: 0, early: 0 } }),
  }
  const ticker = new Ticker({ ...idleHost(), ...hostOn(clock), store } as unknown as TickHost)

  for (let n = 0; n < 10; n++) await ticker.ask()
  expect(renewals).toBe(0)

  await clock.advance(1_000)
  for (let n = 0; n < 10; n++) await ticker.ask()
  expect(renewals).toBe(1)
})

test('a step of the clock has the lease renewed at once, and once', async () => {
  const clock = virtualClock()
  let renewals = 0
  let fails = true
  const store = {
    async renewLease() {
      renewals++
      if (fails) throw new Error('no connection')
      return { state: 'ok', clock: 0 }
    },
    tick: async () => ({ ...NOTHING_TO_DO, undelivered: { late: 0, early: 0 } }),
  }
  const ticker = new Ticker({ ...idleHost(), ...hostOn(clock), store } as unknown as TickHost)

  ticker.renew()
  await expect(ticker.ask()).rejects.toThrow('no connection')
  fails = false
  for (let n = 0; n < 10; n++) await ticker.ask()

  expect(renewals).toBe(2)
})

test('a lease does not hold by an answer that came before the machine was suspended', async () => {
  const clock = virtualClock()
  let aheadMs = 0
  const dated = { ...clock, date: () => new Date(clock.date().getTime() + aheadMs) }
  let lapses = 0
  const suspended = [600_000, 0]
  const store = {
    async renewLease() {
      // Neither the process's clock nor that of the thread sees it.
      aheadMs += suspended.shift()!
      return { state: 'ok', clock: 0 }
    },
    tick: async () => ({ ...NOTHING_TO_DO, undelivered: { late: 0, early: 0 } }),
  }
  const host = { ...idleHost(), ...hostOn(dated), store, onLapse: async () => void lapses++ }
  const ticker = new Ticker(host as unknown as TickHost)
  await clock.advance(1_000)

  await ticker.ask()
  expect(ticker.leaseHolds()).toBeDefined()
  expect(lapses).toBe(1)

  await ticker.ask()
  expect(ticker.leaseHolds()).toBeUndefined()
  expect(lapses).toBe(2)
})
