import { expect, test } from 'vitest'

import { memoryLog } from '../../../../test/support/workers.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { Alarms } from '../../core/alarms.ts'
import { Claimer, type ClaimHost } from './claimer.ts'
import { StoreClock } from '../../core/store-clock.ts'

/** A claimer whose runtime owns nothing, on a store that says when it was asked what is owned. */
function scene() {
  const clock = virtualClock()
  const log = memoryLog()
  const begunMs = clock.now()
  const asked: number[] = []
  const fails = { claim: false, owned: false }
  const store = {
    async claim() {
      if (fails.claim) throw new Error('the answer was lost')
      return { state: 'ok', clock: 0, claims: [], passed: [], nextDue: null }
    },
    async owned() {
      asked.push(clock.now() - begunMs)
      if (fails.owned) throw new Error('canceling statement due to statement timeout')
      return []
    },
  }
  const claimer = new Claimer({
    store,
    clock,
    log,
    runtimeNumber: () => 1,
    workflowNumbers: () => [1],
    freeInstances: () => 10,
    owns: () => false,
    held: () => [],
    dropLost() {},
    sawTime() {},
    async onDead() {},
    async takeOn() {},
    claimIn() {},
  } as unknown as ClaimHost)
  /** As the ticks of a runtime do. */
  const beats = async (seconds: number): Promise<void> => {
    for (let n = 0; n < seconds; n++) {
      await clock.advance(1_000)
      claimer.beat()
      await clock.advance(0)
    }
  }
  return { clock, log, claimer, asked, fails, beats }
}

test('what is owned is read once an hour where nothing is in doubt', async () => {
  const { claimer, asked, beats } = scene()
  const worker = claimer.work()

  await beats(3_599)
  expect(asked).toEqual([])

  await beats(3_600)
  expect(asked).toHaveLength(1)
  await worker.stop()
})

test('after a claim whose answer was lost it is read at once, and ever less often after that', async () => {
  const { clock, claimer, asked, fails, beats } = scene()
  const worker = claimer.work()

  fails.claim = true
  claimer.wake()
  await clock.advance(1)
  fails.claim = false
  await beats(200)

  const gaps = asked.slice(1).map((at, i) => 10 * Math.trunc((at - asked[i]!) / 10_000))
  expect(asked[0]).toBeLessThan(1_000)
  expect(gaps).toEqual([10, 20, 40, 80])
  await worker.stop()
})

test('claims go on where what is owned cannot be read', async () => {
  const { clock, log, claimer, asked, fails } = scene()
  const worker = claimer.work()

  fails.owned = true
  claimer.reconcile()
  await clock.advance(1)

  expect(asked).toHaveLength(1)
  expect(log.at('warn').join()).toContain('could not read which instances are owned')
  expect(log.at('error')).toEqual([])
  await worker.stop()
})

test('what is due later by a clock that was set back is not asked for again and again', async () => {
  const clock = virtualClock()
  const time = new StoreClock(clock)
  const alarms = new Alarms(clock, time)
  // Set back by less than a step, or by an answer that nobody has heard yet: here it seems to be due.
  time.saw(10_000)
  let claims = 0
  const store = {
    async claim() {
      claims++
      return { state: 'ok', clock: 9_500, claims: [], passed: [], nextDue: 9_700 }
    },
  }
  const due = { ring: () => claimer.wake() }
  const claimer: Claimer = new Claimer({
    store,
    clock,
    log: memoryLog(),
    runtimeNumber: () => 1,
    workflowNumbers: () => [1],
    freeInstances: () => 10,
    sawTime: (ms: number, askedMs: number) => time.saw(ms, askedMs),
    claimIn: (ms: number) => alarms.set(due, time.now() + ms),
  } as unknown as ClaimHost)
  const worker = claimer.work()

  claimer.wake()
  await clock.advance(1_000)

  expect(claims).toBeGreaterThan(1)
  expect(claims).toBeLessThan(10)
  await worker.stop()
  alarms.clear()
})

test('a hint for an instance that is just being claimed and read has its mail read again', async () => {
  const clock = virtualClock()
  const owned = new Set<number>()
  const read: number[] = []
  const hinted: (readonly number[])[] = []
  const claims = [[{ iid: 7 }], []]
  const claimer = new Claimer({
    store: {
      async claim(request: { hinted: readonly number[] }) {
        hinted.push(request.hinted)
        return { state: 'ok', clock: 0, claims: claims.shift() ?? [], passed: [], nextDue: null }
      },
    },
    clock,
    log: memoryLog(),
    runtimeNumber: () => 1,
    workflowNumbers: () => [1],
    freeInstances: () => 10,
    owns: (iid: number) => owned.has(iid),
    sawTime() {},
    async takeOn(_: number, taken: readonly { iid: number }[]) {
      // The message came after this one was read, and before it is known here.
      if (taken.length > 0) claimer.hint([7, 8])
      for (const { iid } of taken) owned.add(iid)
    },
    readMail: (iids: readonly number[]) => read.push(...iids),
  } as unknown as ClaimHost)
  await using _ = claimer.work()

  claimer.wake()
  await clock.advance(1)

  expect(read).toEqual([7])
  expect(hinted).toEqual([[], [8]])
})
