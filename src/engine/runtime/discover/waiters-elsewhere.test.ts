import { expect, test } from 'vitest'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Announcement } from '../../../store/hints.ts'
import { WaitersElsewhere } from './waiters-elsewhere.ts'

function scene() {
  const clock = virtualClock()
  const told: Announcement[] = []
  const waiters = new WaitersElsewhere({ clock, tell: (news) => void told.push(news) })
  return { clock, told, waiters }
}

const changed = (to: string, ...iids: number[]): Announcement => ({ kind: 'changed', to, iids })

test('whoever waits for an instance is told when it changes, and nobody else', () => {
  const { told, waiters } = scene()
  waiters.wait('a', [1, 2])
  waiters.wait('b', [2])

  waiters.changed(2)
  waiters.changed(3)

  expect(told).toEqual([changed('a', 2), changed('b', 2)])
})

test('who says it only after the change is told all the same, for a moment', async () => {
  const { clock, told, waiters } = scene()
  waiters.changed(1)

  await clock.advance(900)
  waiters.wait('a', [1, 2])
  expect(told).toEqual([changed('a', 1)])

  await clock.advance('10s')
  waiters.wait('b', [1])
  expect(told).toHaveLength(1)
})

test('who does not say it again is forgotten; who does, is not', async () => {
  const { clock, told, waiters } = scene()
  waiters.wait('a', [1])
  waiters.wait('b', [2])

  for (let round = 0; round < 5; round++) {
    await clock.advance('30s')
    waiters.wait('a', [1])
  }
  waiters.changed(1)
  waiters.changed(2)

  expect(told).toEqual([changed('a', 1)])
})

test('who waited for an instance that has ended is forgotten with it', () => {
  const { told, waiters } = scene()
  for (let iid = 1; iid <= 1_000; iid++) waiters.wait('a', [iid])

  for (let iid = 1; iid <= 1_000; iid++) waiters.ended(iid)

  expect(told).toHaveLength(1_000)
  expect(waiters.size).toBe(0)
})

test('however much is said to be waited for, what is remembered is bounded', () => {
  const { told, waiters } = scene()
  const LOT = 400

  for (let iid = 1; iid <= 1_000_000; iid += LOT) {
    waiters.wait(
      `listener${iid}`,
      Array.from({ length: LOT }, (_, i) => iid + i),
    )
  }
  waiters.changed(1_000_000)

  expect(waiters.size).toBeLessThanOrEqual(200_000)
  expect(told).toHaveLength(1)
})

test('however many say that they wait for the same, what is remembered and told is bounded', () => {
  const { told, waiters } = scene()
  const iids = Array.from({ length: 400 }, (_, i) => i + 1)

  for (let i = 0; i < 2_000; i++) waiters.wait(`listener${i}`, iids)
  waiters.changed(1)

  expect(waiters.size).toBeLessThanOrEqual(200_000)
  expect(told.length).toBeLessThanOrEqual(1_000)
})

test('any number may wait for one instance, and each is told once', () => {
  const { told, waiters } = scene()
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 1_000; i++) waiters.wait(`listener${i}`, [1])
  }

  waiters.changed(1)

  expect(told).toHaveLength(1_000)
})
