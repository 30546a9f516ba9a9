import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Announcement } from '../../store/hints.ts'
import { RemoteChanges } from './remote-changes.ts'

function scene() {
  const clock = virtualClock()
  const listener: Announcement[] = []
  const state = { isListening: true }
  const news = new RemoteChanges({
    clock,
    tell: (one) => listener.push(one),
    isListening: () => state.isListening,
  })
  const waits: number[] = []
  const wait = (iid: number): (() => void) => news.subscribe(iid, () => void waits.push(iid))
  return { clock, listener, state, news, waits, wait }
}

const waiting = (...iids: number[]): Announcement => ({ kind: 'waiting', iids })

test('those who wait are announced together, each instance once', async () => {
  const { clock, listener, wait } = scene()

  wait(1)
  wait(2)
  wait(1)
  await clock.advance(0)

  expect(listener).toEqual([waiting(1, 2)])
})

test('a change wakes those who wait for it, each time, until they stop', async () => {
  const { clock, news, waits, wait } = scene()
  const stop = wait(1)
  wait(2)

  news.hear({ kind: 'changed', iids: [1, 3] })
  await clock.advance(5)
  news.hear({ kind: 'recalled', iids: [1] })
  news.changed(2)
  stop()
  news.hear({ kind: 'changed', iids: [1] })

  expect(waits).toEqual([1, 1, 2])
})

test('it is said again while somebody waits, and to whoever joins', async () => {
  const { clock, listener, news, wait } = scene()
  const stop = wait(1)

  await clock.advance('65s')
  expect(listener).toEqual([waiting(1), waiting(1), waiting(1)])
  news.hear({ kind: 'joined' })
  await clock.advance(0)
  expect(listener).toHaveLength(4)
  stop()
  await clock.advance('10m')

  expect(listener).toHaveLength(4)
  expect(clock.pending).toBe(0)
})

test('who could not hear the answer says nothing, until it can: then it also looks', async () => {
  const { clock, listener, state, news, waits, wait } = scene()
  state.isListening = false
  wait(1)
  await clock.advance('1m')
  expect(listener).toEqual([])

  state.isListening = true
  news.resumed()
  await clock.advance(0)

  expect(listener).toEqual([waiting(1)])
  expect(waits).toEqual([1])
})

test('who has left in the same moment is not announced', async () => {
  const { clock, listener, wait } = scene()

  wait(1)()
  await clock.advance(0)

  expect(listener).toEqual([])
})

test('when anything may have changed all look, the more of them the more seldom', async () => {
  const { clock, news, waits, wait } = scene()
  for (let iid = 1; iid <= 1_000; iid++) wait(iid)

  for (let ms = 0; ms < 1_000; ms += 5) {
    news.hear({ kind: 'changed', iids: [] })
    await clock.advance(5)
  }

  expect(waits.length / 1_000).toBeGreaterThan(5)
  expect(waits.length / 1_000).toBeLessThanOrEqual(11)
})

test('no change goes unnoticed because another one came just before', async () => {
  const { clock, news, waits, wait } = scene()
  wait(1)
  news.hear({ kind: 'changed', iids: [] })
  await clock.advance(1)
  expect(waits).toHaveLength(1)

  news.hear({ kind: 'changed', iids: [] })
  await clock.advance('1s')

  expect(waits).toHaveLength(2)
})

test('what is said to change all the time is looked at ten times a second', async () => {
  const { clock, news, waits, wait } = scene()
  wait(1)

  for (let ms = 0; ms < 10_000; ms++) {
    news.hear({ kind: ms % 2 === 0 ? 'changed' : 'recalled', iids: [1] })
    await clock.advance(1)
  }

  expect(waits.length).toBeGreaterThan(90)
  expect(waits.length).toBeLessThan(110)
})

test('a change after a quiet while notifies at once', async () => {
  const { clock, news, waits, wait } = scene()
  wait(1)
  for (let i = 0; i < 20; i++) {
    news.hear({ kind: 'changed', iids: [1] })
    await clock.advance(10)
  }
  await clock.advance('2s')
  waits.length = 0

  news.hear({ kind: 'changed', iids: [1] })

  expect(waits).toEqual([1])
})

test('however many join, or say so, who waits is announced once a second', async () => {
  const { clock, listener, news, wait } = scene()
  wait(1)
  await clock.advance(0)

  for (let ms = 0; ms < 10_000; ms++) {
    news.hear({ kind: 'joined' })
    await clock.advance(1)
  }

  expect(listener.length).toBeLessThan(13)
})

test('who has left keeps no timer', async () => {
  const { clock, news, wait } = scene()
  const stops = [1, 2, 3].map(wait)
  for (let i = 0; i < 3; i++) {
    news.hear({ kind: 'changed', iids: [1, 2, 3] })
    news.hear({ kind: 'changed', iids: [] })
    news.hear({ kind: 'joined' })
  }

  for (const stop of stops) stop()
  await clock.advance(0)

  expect(clock.pending).toBe(0)
})
