import { describe, expect, test } from 'vitest'

import { virtualClock } from '../../src/testing/virtual-clock.ts'
import type { WorkflowNumbers } from '../../src/engine/core/workflow-numbers.ts'
import type { Capacity } from '../../src/engine/runtime/schedule/capacity.ts'
import { HintListener } from '../../src/engine/runtime/discover/hint-listener.ts'
import type { Ownership } from '../../src/engine/runtime/discover/ownership.ts'
import type { OwnedTaskSet } from '../../src/engine/runtime/discover/ports.ts'
import { Registration } from '../../src/engine/runtime/discover/registration.ts'
import { Ticker } from '../../src/engine/runtime/discover/ticker.ts'
import { WorkFinder } from '../../src/engine/runtime/discover/work-finder.ts'
import type { CommandRunner } from '../../src/engine/runtime/schedule/command-runner.ts'
import { LiveInstances } from '../../src/engine/runtime/schedule/live-instances.ts'
import { readPayload } from '../../src/postgres/notifier/payload.ts'
import type { Hint, HintReceiver } from '../../src/store/hints.ts'
import { SharedLoopHeartbeat } from '../../src/watchdog/shared-loop-heartbeat.ts'
import type { TickAnswer } from '../../src/store/runtimes.ts'
import { partOf, testCore } from '../support/runtime-core.ts'

// From the text of a notification, or the answer to a tick, to the moment at which a runtime goes
// for work: the parts of a runtime that decide it, on a clock that is moved by hand.

const NOW = 1_000_000
const TICK_MS = 10_000

/** What the store would answer to a tick when there is nothing to do. */
const NOTHING: Extract<TickAnswer, { state: 'ok' }> = {
  state: 'ok',
  clock: NOW,
  server: '',
  mail: [],
  claimable: false,
  nextDue: null,
  wanted: [],
  nextTask: null,
  nextSchedule: null,
  helped: [],
  stranded: [],
  undelivered: { late: 0, early: 0 },
  soon: false,
}

function scene() {
  const clock = virtualClock()
  /** The moments of store time at which it went for work, and what for. */
  const went: [what: string, at: number][] = []
  const go = (what: string): void => void went.push([what, core.time.now()])
  const state = { answer: NOTHING, fails: false }
  let listener!: HintReceiver
  const core = testCore(clock, {
    store: {
      renewLease: async () => ({ state: 'ok', clock: core.time.now() }),
      async tick() {
        if (state.fails) throw new Error('no connection')
        go('tick')
        return { ...state.answer, clock: core.time.now() }
      },
      hints: {
        announce() {},
        listen(given: HintReceiver) {
          listener = given
          return {
            isListening: true,
            health: () => ({ state: 'listening', interruptions: 0 }),
            refresh() {},
            async close() {},
          }
        },
      },
    },
  })
  const { time } = core
  time.saw(NOW)
  const request = { leaseMs: 3 * TICK_MS, workflows: [], info: '' }
  const numbers = partOf<WorkflowNumbers>({ registered: [1] })
  const loop = { shared: new SharedLoopHeartbeat(), isKept: false, renewed() {} }
  const registration = new Registration(core, loop, numbers, request)
  const finder = new WorkFinder(
    core,
    registration,
    partOf<Capacity>({ free: 10 }),
    new LiveInstances(),
  )
  // What the loops are sent for, at the moment at which they are.
  finder.claimer.wake = () => go('claim')
  finder.mail.look = (iids) => go(`look for ${[...iids].join()}`)
  const activities = {
    tasks: { owned: partOf<OwnedTaskSet>({ keys: () => [] }) },
    claimer: {
      interest: null,
      wakeAt: (at: number) => core.alarms.set({ ring: () => go('tasks') }, at),
    },
    longWaits: { helpedWith() {} },
    slots: { idle: true },
  }
  const ownership = partOf<Ownership>({ dropLostOfSome: async () => {} })
  const scheduler = partOf<CommandRunner>({ unknownActivities: [] })
  const schedules = { lookAt: (at: number) => core.alarms.set({ ring: () => go('schedules') }, at) }
  const ticker = new Ticker(core, registration, finder, ownership, scheduler, activities, schedules)
  finder.hints.open(
    new HintListener(core, registration, finder, ticker, ownership, activities, schedules),
  )
  /** A notification arrives. */
  const receive = (payload: string): void => listener.receive(readPayload(payload).hint as Hint)
  return { clock, time, went, state, ticker, receive }
}

/** The text of a notification of something that is due at a moment. */
function dueAt(moment: number): string {
  return `{"kind":"work","iids":[],"at":${moment}}`
}

describe('a notification', () => {
  test('of work that is due now is followed up at once', async () => {
    const { clock, went, receive } = scene()

    receive('{"kind":"work","iids":[5,6],"at":0}')
    await clock.advance(TICK_MS)

    expect(went).toEqual([['look for 5,6', NOW]])
  })

  test('of a moment that has passed is followed up at once', async () => {
    const { clock, went, receive } = scene()

    receive(dueAt(NOW - 500))
    await clock.advance(TICK_MS)

    expect(went).toEqual([['claim', NOW]])
  })

  test('of this very moment is followed up at once', async () => {
    const { clock, went, receive } = scene()

    receive(dueAt(NOW))
    await clock.advance(0)

    expect(went).toEqual([['claim', NOW]])
  })

  test('of a future moment is followed up then, not before, and without a grace period', async () => {
    const { clock, went, receive } = scene()

    receive(dueAt(NOW + 500))
    await clock.advance(499)
    expect(went).toEqual([])
    await clock.advance(1)

    expect(went).toEqual([['claim', NOW + 500]])
  })

  // The source looked ahead for a minute, and left what came later to its refresh.
  test.each([59_999, 60_000, 60_001, 30 * 86_400_000])(
    'of a moment %d ms ahead is followed up then: nothing is too far away',
    async (ms) => {
      const { clock, went, receive } = scene()

      receive(dueAt(NOW + ms))
      await clock.advance(ms)

      expect(went).toEqual([['claim', NOW + ms]])
    },
  )

  test.each(['not a payload', '', '0', '-5', '{"kind":"work","iids":[],"at":0}'])(
    'that reads %j has the store asked at once',
    async (payload) => {
      const { clock, went, receive } = scene()

      receive(payload)
      await clock.advance(0)

      expect(went).toEqual([['tick', NOW]])
    },
  )

  test.each(['0', '-5', 'null', '"soon"'])('of the moment %s means now', async (moment) => {
    const { clock, went, receive } = scene()

    receive(`{"kind":"work","iids":[5],"at":${moment}}`)
    await clock.advance(0)

    expect(went).toEqual([['look for 5', NOW]])
  })
})

describe('several moments', () => {
  test('the earliest comes first, whichever was announced first', async () => {
    const { clock, went, receive } = scene()

    for (const ms of [900, 300, 600]) receive(dueAt(NOW + ms))
    await clock.advance(300)

    expect(went).toEqual([['claim', NOW + 300]])
  })

  test('those that have passed together are followed up by one claim', async () => {
    const { clock, went, receive } = scene()

    for (let ms = 1; ms <= 100; ms++) receive(dueAt(NOW - ms))
    await clock.advance(0)

    expect(went).toEqual([['claim', NOW]])
  })

  test('however often the same hint comes, there is one alarm', async () => {
    const { clock, went, receive } = scene()

    for (let i = 0; i < 1_000; i++) receive(dueAt(NOW + 500))
    // One timer for the alarm, and one for hints that are gathered because they brought nothing yet.
    expect(clock.pending).toBe(2)
    await clock.advance(500)

    expect(went).toEqual([['claim', NOW + 500]])
    expect(clock.pending).toBe(0)
  })
})

describe('the answer to a tick', () => {
  test('sets an alarm for what is due next, without a grace period', async () => {
    const { clock, went, state, ticker } = scene()
    state.answer = { ...NOTHING, nextDue: NOW + 700 }

    await ticker.ask()
    await clock.advance(699)
    expect(went).toEqual([['tick', NOW]])
    await clock.advance(1)

    expect(went).toEqual([
      ['tick', NOW],
      ['claim', NOW + 700],
    ])
  })

  test('claims due work at once, even if it fell due on the way', async () => {
    const { clock, went, state, ticker } = scene()
    state.answer = { ...NOTHING, claimable: true, nextDue: NOW - 1 }

    await ticker.ask()
    await clock.advance(0)

    expect(went).toEqual([
      ['tick', NOW],
      ['claim', NOW],
    ])
  })

  test('sets an alarm for tasks that are to be retried', async () => {
    const { clock, went, state, ticker } = scene()
    state.answer = { ...NOTHING, nextTask: NOW + 700 }

    await ticker.ask()
    await clock.advance(700)

    expect(went.at(-1)).toEqual(['tasks', NOW + 700])
  })

  test('without due work sets no alarm', async () => {
    const { clock, went, ticker } = scene()

    await ticker.ask()

    expect(clock.pending).toBe(0)
    expect(went).toEqual([['tick', NOW]])
  })

  test('that comes again and again adds no further alarm', async () => {
    const { clock, state, ticker } = scene()
    state.answer = { ...NOTHING, nextDue: NOW + 500_000 }

    for (let i = 0; i < 100; i++) await ticker.ask()

    expect(clock.pending).toBe(1)
  })

  test('that does not come is retried, long before the next tick is due', async () => {
    const { clock, went, state, ticker } = scene()
    state.fails = true
    const ticks = ticker.work()
    ticker.wake()
    await clock.advance(50)
    state.fails = false

    await clock.advance(2_000)

    expect(went.map(([what]) => what)).toEqual(['tick'])
    await clock.until(ticks.stop())
  })

  test('comes every ten seconds while nothing happens', async () => {
    const { clock, went, ticker } = scene()
    const ticks = ticker.work()

    await clock.advance(60_000)

    expect(went.map(([, at]) => at - NOW)).toEqual([1, 2, 3, 4, 5, 6].map((n) => n * TICK_MS))
    await clock.until(ticks.stop())
  })
})

describe("the store's clock", () => {
  test('decides, whatever the clock of the process shows', async () => {
    const { clock, time, went, receive } = scene()
    // An hour ahead of what this process believed.
    time.saw(NOW + 3_600_000)

    receive(dueAt(NOW + 3_600_500))
    await clock.advance(500)

    expect(went).toEqual([['claim', NOW + 3_600_500]])
  })
})
