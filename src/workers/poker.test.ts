import { expect, test } from 'vitest'

import { notify, type Notify } from '../base/sync/notify.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { startPoker } from './poker.ts'

function openPoker(ms: number) {
  const clock = virtualClock()
  const target = notify()
  const poker = startPoker(clock, ms, target)
  const pokedAt: number[] = []
  const watch = async (): Promise<void> => {
    for (;;) {
      await target.wait()
      pokedAt.push(clock.now())
    }
  }
  return { clock, target, poker, pokedAt, watch: () => void watch() }
}

test('a poker wakes its target after each interval [periodic_notification]', async () => {
  const { clock, poker, pokedAt, watch } = openPoker(1)
  watch()

  await clock.advance(0)
  expect(pokedAt).toEqual([])
  await clock.advance(3)

  expect(pokedAt).toEqual([1, 2, 3])
  poker.stop()
})

test('a stopped poker pokes no more and leaves no timer [cancellation_stops_poker]', async () => {
  const { clock, poker, pokedAt, watch } = openPoker(10)
  poker.stop()
  poker.stop()
  watch()

  await clock.advance('1s')

  expect(pokedAt).toEqual([])
  expect(clock.pending).toBe(0)
})

test('pokes that nobody awaited are one stored permit [stored_permit_semantics]', async () => {
  const { clock, target, poker, pokedAt, watch } = openPoker(10)

  await clock.advance(35)
  await target.wait()
  watch()
  await clock.advance(0)
  expect(pokedAt).toEqual([])
  await clock.advance(5)

  expect(pokedAt).toEqual([40])
  poker.stop()
})

test('a poker says when its next poke comes', async () => {
  const { clock, poker } = openPoker(10)

  expect(poker.nextAtMs).toBe(10)
  await clock.advance(25)

  expect(poker.nextAtMs).toBe(30)
  poker.stop()
})

test('a late timer leaves out the beats it missed and keeps to the beat', async () => {
  const clock = virtualClock()
  let pokes = 0
  const target: Notify = {
    notifyOne: () => void pokes++,
    notifyAll() {},
    wait: () => Promise.resolve(),
  }
  let stalledMs = 0
  const stalling = { ...clock, now: () => clock.now() + stalledMs }
  const poker = startPoker(stalling, 10, target)

  stalledMs = 33
  await clock.advance(10)

  expect(pokes).toBe(1)
  expect(poker.nextAtMs).toBe(50)
  poker.stop()
  expect(clock.pending).toBe(0)
})

test('a poker that is stopped by whom it wakes stays stopped', async () => {
  const clock = virtualClock()
  const target: Notify = {
    notifyOne: () => poker.stop(),
    notifyAll() {},
    wait: () => Promise.resolve(),
  }
  const poker = startPoker(clock, 10, target)

  await clock.advance(100)

  expect(clock.pending).toBe(0)
})
