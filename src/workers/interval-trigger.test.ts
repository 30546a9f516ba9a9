import { expect, test } from 'vitest'

import { notify, type Notify } from '../base/sync/notify.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { startIntervalTrigger } from './interval-trigger.ts'

function openTrigger(ms: number) {
  const clock = virtualClock()
  const target = notify()
  const trigger = startIntervalTrigger(clock, ms, target)
  const firedAt: number[] = []
  const watch = async (): Promise<void> => {
    for (;;) {
      await target.wait()
      firedAt.push(clock.now())
    }
  }
  return { clock, target, trigger, firedAt, watch: () => void watch() }
}

test('an interval trigger wakes its target after each interval [periodic_notification]', async () => {
  const { clock, trigger, firedAt, watch } = openTrigger(1)
  watch()

  await clock.advance(0)
  expect(firedAt).toEqual([])
  await clock.advance(3)

  expect(firedAt).toEqual([1, 2, 3])
  trigger.stop()
})

test('a stopped interval trigger fires no more and leaves no timer [cancellation_stops_poker]', async () => {
  const { clock, trigger, firedAt, watch } = openTrigger(10)
  trigger.stop()
  trigger.stop()
  watch()

  await clock.advance('1s')

  expect(firedAt).toEqual([])
  expect(clock.pending).toBe(0)
})

test('intervals without a waiter are one stored permit [stored_permit_semantics]', async () => {
  const { clock, target, trigger, firedAt, watch } = openTrigger(10)

  await clock.advance(35)
  await target.wait()
  watch()
  await clock.advance(0)
  expect(firedAt).toEqual([])
  await clock.advance(5)

  expect(firedAt).toEqual([40])
  trigger.stop()
})

test('an interval trigger says when it fires next', async () => {
  const { clock, trigger } = openTrigger(10)

  expect(trigger.nextAtMs).toBe(10)
  await clock.advance(25)

  expect(trigger.nextAtMs).toBe(30)
  trigger.stop()
})

test('a late timer leaves out the beats it missed and keeps to the beat', async () => {
  const clock = virtualClock()
  let fired = 0
  const target: Notify = {
    notifyOne: () => void fired++,
    notifyAll() {},
    wait: () => Promise.resolve(),
  }
  let stalledMs = 0
  const stalling = { ...clock, now: () => clock.now() + stalledMs }
  const trigger = startIntervalTrigger(stalling, 10, target)

  stalledMs = 33
  await clock.advance(10)

  expect(fired).toBe(1)
  expect(trigger.nextAtMs).toBe(50)
  trigger.stop()
  expect(clock.pending).toBe(0)
})

test('an interval trigger that its target stops stays stopped', async () => {
  const clock = virtualClock()
  const target: Notify = {
    notifyOne: () => trigger.stop(),
    notifyAll() {},
    wait: () => Promise.resolve(),
  }
  const trigger = startIntervalTrigger(clock, 10, target)

  await clock.advance(100)

  expect(clock.pending).toBe(0)
})
