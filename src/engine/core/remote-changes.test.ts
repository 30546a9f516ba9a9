import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Announcement } from '../../store/hints.ts'
import { RemoteChanges } from './remote-changes.ts'

function scene() {
  const clock = virtualClock()
  const listener: Announcement[] = []
  const state = { isListening: true }
  const changes = new RemoteChanges({
    clock,
    announce: (one) => listener.push(one),
    isListening: () => state.isListening,
  })
  const waits: number[] = []
  const wait = (iid: number): (() => void) => changes.subscribe(iid, () => void waits.push(iid))
  return { clock, listener, state, changes, waits, wait }
}

const waiting = (...iids: number[]): Announcement => ({ kind: 'waiting', iids })

test('waiting callers are announced together, each instance once', async () => {
  const { clock, listener, wait } = scene()

  wait(1)
  wait(2)
  wait(1)
  await clock.advance(0)

  expect(listener).toEqual([waiting(1, 2)])
})

test('a change wakes the callers that wait for it, each time, until they stop', async () => {
  const { clock, changes, waits, wait } = scene()
  const stop = wait(1)
  wait(2)

  changes.receive({ kind: 'changed', iids: [1, 3] })
  await clock.advance(5)
  changes.receive({ kind: 'recalled', iids: [1] })
  changes.changed(2)
  stop()
  changes.receive({ kind: 'changed', iids: [1] })

  expect(waits).toEqual([1, 1, 2])
})

test('a wait is announced again while it lasts, and to every process that joins', async () => {
  const { clock, listener, changes, wait } = scene()
  const stop = wait(1)

  await clock.advance('65s')
  expect(listener).toEqual([waiting(1), waiting(1), waiting(1)])
  changes.receive({ kind: 'joined' })
  await clock.advance(0)
  expect(listener).toHaveLength(4)
  stop()
  await clock.advance('10m')

  expect(listener).toHaveLength(4)
  expect(clock.pending).toBe(0)
})

test('a process that cannot receive hints announces nothing until it can; then it also polls', async () => {
  const { clock, listener, state, changes, waits, wait } = scene()
  state.isListening = false
  wait(1)
  await clock.advance('1m')
  expect(listener).toEqual([])

  state.isListening = true
  changes.resumed()
  await clock.advance(0)

  expect(listener).toEqual([waiting(1)])
  expect(waits).toEqual([1])
})

test('a caller that leaves in the same tick is not announced', async () => {
  const { clock, listener, wait } = scene()

  wait(1)()
  await clock.advance(0)

  expect(listener).toEqual([])
})

test('when anything may have changed all callers look, less often the more there are', async () => {
  const { clock, changes, waits, wait } = scene()
  for (let iid = 1; iid <= 1_000; iid++) wait(iid)

  for (let ms = 0; ms < 1_000; ms += 5) {
    changes.receive({ kind: 'changed', iids: [] })
    await clock.advance(5)
  }

  expect(waits.length / 1_000).toBeGreaterThan(5)
  expect(waits.length / 1_000).toBeLessThanOrEqual(11)
})

test('no change goes unnoticed because another one came just before', async () => {
  const { clock, changes, waits, wait } = scene()
  wait(1)
  changes.receive({ kind: 'changed', iids: [] })
  await clock.advance(1)
  expect(waits).toHaveLength(1)

  changes.receive({ kind: 'changed', iids: [] })
  await clock.advance('1s')

  expect(waits).toHaveLength(2)
})

test('an instance that changes constantly is looked at ten times a second', async () => {
  const { clock, changes, waits, wait } = scene()
  wait(1)

  for (let ms = 0; ms < 10_000; ms++) {
    changes.receive({ kind: ms % 2 === 0 ? 'changed' : 'recalled', iids: [1] })
    await clock.advance(1)
  }

  expect(waits.length).toBeGreaterThan(90)
  expect(waits.length).toBeLessThan(110)
})

test('a change after a quiet while notifies at once', async () => {
  const { clock, changes, waits, wait } = scene()
  wait(1)
  for (let i = 0; i < 20; i++) {
    changes.receive({ kind: 'changed', iids: [1] })
    await clock.advance(10)
  }
  await clock.advance('2s')
  waits.length = 0

  changes.receive({ kind: 'changed', iids: [1] })

  expect(waits).toEqual([1])
})

test('with any number of processes joining, waits are announced once a second', async () => {
  const { clock, listener, changes, wait } = scene()
  wait(1)
  await clock.advance(0)

  for (let ms = 0; ms < 10_000; ms++) {
    changes.receive({ kind: 'joined' })
    await clock.advance(1)
  }

  expect(listener.length).toBeLessThan(13)
})

test('a caller that left keeps no timer', async () => {
  const { clock, changes, wait } = scene()
  const stops = [1, 2, 3].map(wait)
  for (let i = 0; i < 3; i++) {
    changes.receive({ kind: 'changed', iids: [1, 2, 3] })
    changes.receive({ kind: 'changed', iids: [] })
    changes.receive({ kind: 'joined' })
  }

  for (const stop of stops) stop()
  await clock.advance(0)

  expect(clock.pending).toBe(0)
})
