import { expect, test } from 'vitest'

import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { memoryLog } from '../../../../test/support/workers.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { Capacity } from '../schedule/capacity.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { LiveInstances } from '../schedule/live-instances.ts'
import { Claimer, type ClaimTaker } from './claimer.ts'
import type { HintExchange } from './hint-exchange.ts'
import type { Registration } from './registration.ts'

const NOTHING_TAKEN: ClaimTaker = { waiting: () => [], dropLost() {}, async takeOn() {} }

/** A claimer of a runtime that owns nothing. */
function claimerOn(core: RuntimeCore, owned = new Set<number>()): Claimer {
  const claimer = new Claimer(
    core,
    partOf<Registration>({ number: 1, workflows: [1] }),
    partOf<Capacity>({ free: 10 }),
    { get: (iid: number) => (owned.has(iid) ? {} : undefined) } as LiveInstances,
    partOf<HintExchange>({ found() {} }),
  )
  claimer.reportTo(NOTHING_TAKEN, { look() {} })
  return claimer
}

/** A claimer whose runtime owns nothing, on a store that says when it was asked what is owned. */
function scene() {
  const clock = virtualClock()
  const log = memoryLog()
  const begunMs = clock.now()
  const asked: number[] = []
  const fails = { claim: false, owned: false, answers: 0 }
  const store = {
    async claim() {
      if (fails.claim) throw new Error('the answer was lost')
      return { state: 'ok', clock: 0, claims: [], passed: [], nextDue: null }
    },
    async owned() {
      asked.push(clock.now() - begunMs)
      if (fails.owned) throw new Error('canceling statement due to statement timeout')
      if (fails.answers-- > 0) throw new StoreError('connection_lost', 'owned', 'no answer')
      return []
    },
  }
  const claimer = claimerOn(testCore(clock, { log, store }))
  /** As the ticks of a runtime do. */
  const beats = async (seconds: number): Promise<void> => {
    for (let n = 0; n < seconds; n++) {
      await clock.advance(1_000)
      claimer.tick()
      await clock.advance(0)
    }
  }
  return { clock, log, claimer, asked, fails, beats }
}

test('ownership is read once an hour when nothing is in doubt', async () => {
  const { claimer, asked, beats } = scene()
  const worker = claimer.work()

  await beats(3_599)
  expect(asked).toEqual([])

  await beats(3_600)
  expect(asked).toHaveLength(1)
  await worker.stop()
})

test('after a lost answer, ownership is read at once, then less and less often', async () => {
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

test('ownership is read again within a second when the answer is lost', async () => {
  const { clock, log, claimer, asked, fails } = scene()
  const worker = claimer.work()

  fails.answers = 3
  claimer.reconcile()
  await clock.advance(1_000)

  expect(asked).toHaveLength(4)
  expect(log.at('warn')).toEqual([])
  await worker.stop()
})

test('claims continue when ownership cannot be read', async () => {
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

test('a store clock that jumped back does not lead to claim after claim', async () => {
  const clock = virtualClock()
  let claims = 0
  const store = {
    async claim() {
      claims++
      return { state: 'ok', clock: 9_500, claims: [], passed: [], nextDue: 9_700 }
    },
  }
  const core = testCore(clock, { store })
  // It jumped back by less than a step, or by an answer that has not arrived yet: here it seems to be due.
  core.time.saw(10_000)
  const claimer = claimerOn(core)
  const worker = claimer.work()

  claimer.wake()
  await clock.advance(1_000)

  expect(claims).toBeGreaterThan(1)
  expect(claims).toBeLessThan(10)
  await worker.stop()
  core.alarms.clear()
})

test('a hint for an instance that is being claimed and read has its mail read again', async () => {
  const clock = virtualClock()
  const owned = new Set<number>()
  const read: number[] = []
  const hinted: (readonly number[])[] = []
  const claims = [[{ iid: 7 }], []]
  const store = {
    async claim(request: { hinted: readonly number[] }) {
      hinted.push(request.hinted)
      return { state: 'ok', clock: 0, claims: claims.shift() ?? [], passed: [], nextDue: null }
    },
  }
  const claimer: Claimer = claimerOn(testCore(clock, { store }), owned)
  claimer.reportTo(
    {
      ...NOTHING_TAKEN,
      async takeOn(_, taken) {
        // The message came after this one was read, and before it is known here.
        if (taken.length > 0) claimer.hint([7, 8])
        for (const { iid } of taken) owned.add(iid)
      },
    },
    { look: (iids) => void read.push(...iids) },
  )
  await using _ = claimer.work()

  claimer.wake()
  await clock.advance(1)

  expect(read).toEqual([7])
  expect(hinted).toEqual([[], [8]])
})
