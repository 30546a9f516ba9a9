import { describe, expect, test } from 'vitest'

import { ManualPerformer, testAttempts, TestCall } from '../../../../test/tasks/attempts.ts'
import { testCore } from '../../../../test/support/runtime-core.ts'
import { TimeoutError } from '../../../base/errors.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { type Performer, Slots } from './slots.ts'

/** Slots on virtual time. */
function openSlots(max: number) {
  const clock = virtualClock()
  const core = testCore(clock)
  const services = testAttempts(core)
  const performer = new ManualPerformer()
  let freed = 0
  const slots = new Slots(core, max)
  slots.reportTo({ slotFreed: () => void freed++ })
  return {
    clock,
    log: core.log,
    performer,
    slots,
    freed: () => freed,
    /** Runs so many calls; their commands are their numbers from 1. */
    run: (count: number, by: Performer = performer) =>
      Array.from({ length: count }, (_, i) => {
        const call = new TestCall(services, {}, 1, i + 1)
        slots.run(call, by)
        return call
      }),
    settle: () => clock.advance(0),
  }
}

describe('slots', () => {
  test('calls run in the order they came, no more at once than there are slots', async () => {
    const { slots, performer, run, settle } = openSlots(2)
    const other = new ManualPerformer()
    const [first, second, third] = run(3)
    const [fourth] = run(1, other)
    expect([performer.begun, slots.running, slots.free]).toEqual([[first, second], 2, 0])

    performer.end(second!)
    await settle()
    expect([performer.begun, other.begun]).toEqual([[first, second, third], []])
    performer.end(first!)
    await settle()

    expect(other.begun).toEqual([fourth])
    expect(slots.running).toBe(2)
  })

  test('the watcher learns of a free slot that no call waits for', async () => {
    const { performer, run, settle, freed } = openSlots(1)
    const [first, second] = run(2)

    performer.end(first!)
    await settle()
    expect(freed()).toBe(0)
    performer.end(second!)
    await settle()

    expect(freed()).toBe(1)
  })

  test('any number of calls that end at once let those behind them run', async () => {
    const { slots, performer, run, settle, freed } = openSlots(1)
    let performed = 0
    const atOnce: Performer = {
      perform() {
        performed++
        return undefined
      },
    }
    const [first] = run(1)
    run(20_000, atOnce)
    const [last] = run(1)

    performer.end(first!)
    await settle()

    expect(performed).toBe(20_000)
    expect([performer.begun, slots.running, freed()]).toEqual([[first, last], 1, 0])
  })

  test('code that runs on after its timeout keeps its slot until it or its grace ends', async () => {
    const { clock, performer, run, settle } = openSlots(1)
    let end!: () => void
    const calls = run(3)
    for (const call of calls.slice(0, 2)) {
      call.left = new Promise<void>((resolve) => (end = resolve))
      call.timedOut(new TimeoutError('late', 1))
      performer.end(call)
      await settle()
      expect(performer.begun.at(-1)).toBe(call)
      if (call === calls[0]) end()
      else await clock.advance(10_000)
      await settle()
    }

    expect(performer.begun).toEqual(calls)
  })

  test('any number of cancelled calls are skipped', async () => {
    const { slots, performer, run, settle, freed } = openSlots(1)
    const calls = run(5_000)
    const [first, last] = [calls[0]!, calls.at(-1)!]
    for (const call of calls.slice(1, -1)) call.wanted = false

    performer.end(first)
    await settle()
    expect(performer.begun.map((call) => call.key.command)).toEqual([1, 5_000])
    performer.end(last)
    await settle()

    expect([slots.running, slots.idle, freed()]).toEqual([0, true, 1])
  })

  test('calls that wait behind thousands of others run in order', async () => {
    const { performer, run, settle } = openSlots(1)
    const calls = run(2_500)

    for (const call of calls) {
      performer.end(call)
      await settle()
    }
    await settle()

    expect(performer.begun.map((call) => call.key.command)).toEqual(calls.map((_, i) => i + 1))
  })

  test('waitingFor answers the calls that have waited for so long, the longest first', async () => {
    const { clock, slots, run } = openSlots(1)
    const [, early] = run(2)
    await clock.advance(100)
    const [middle] = run(1)
    await clock.advance(100)
    run(1)

    expect(slots.waitingFor(200)).toEqual([early])
    expect(slots.waitingFor(100)).toEqual([early, middle])
    expect(slots.waitingFor(0)).toHaveLength(3)
    expect(slots.waitingFor(201)).toEqual([])
  })

  test('closing empties the queue and leaves running calls alone', async () => {
    const { slots, performer, run, settle } = openSlots(1)
    const [running, ...waiting] = run(3)

    expect(slots.close()).toEqual(waiting)
    expect([slots.running, slots.waitingFor(0)]).toEqual([1, []])
    performer.end(running!)
    await settle()

    expect(performer.begun).toEqual([running])
  })

  test('closing leaves no timer for code that does not stop', () => {
    const { clock, slots, run } = openSlots(2)
    const [early, late] = run(2)
    early!.abort('enough')

    slots.close()
    late!.abort('enough')

    // A timer would keep the process alive.
    expect(clock.pending).toBe(0)
  })

  test('slots are idle while no call waits and at most half of them are taken', () => {
    const { slots, run } = openSlots(4)
    run(2)
    expect(slots.idle).toBe(true)

    run(1)

    expect(slots.idle).toBe(false)
  })

  test('aborted code that does not stop keeps its slot for ten seconds, and no longer', async () => {
    const { clock, log, slots, performer, run, settle } = openSlots(1)
    const [stubborn, next] = run(2)
    stubborn!.abort('enough')

    await clock.advance(9_999)
    expect([performer.begun, log.lines]).toEqual([[stubborn], []])
    await clock.advance(1)
    expect(performer.begun).toEqual([stubborn, next])
    expect(log.lines).toEqual([
      {
        level: 'warn',
        data: expect.objectContaining({ activity: 'work', instanceId: 'i' }) as object,
        message: 'activity did not stop within 10000 ms of its abort signal; freeing its slot',
      },
    ])

    // It frees no second slot when it ends after all.
    performer.end(stubborn!)
    await settle()
    expect(slots.running).toBe(1)
    performer.end(next!)
    await settle()
    expect([slots.running, clock.pending]).toEqual([0, 0])
  })

  test('code that stops when aborted leaves no timer and no warning, however often it is aborted', async () => {
    const { clock, log, slots, performer, run, settle } = openSlots(1)
    const [call] = run(1)
    call!.abort('enough')
    await clock.advance(5_000)
    call!.abort('enough, really')

    performer.end(call!)
    await settle()

    expect([slots.running, clock.pending, log.lines]).toEqual([0, 0, []])
  })

  test('a call that is aborted while it waits for a slot takes none', async () => {
    const { clock, performer, run, settle, freed } = openSlots(1)
    const [running, waiting] = run(2)
    waiting!.abort('enough')
    waiting!.wanted = false

    performer.end(running!)
    await settle()

    expect([performer.begun, freed(), clock.pending]).toEqual([[running], 1, 0])
  })
})
