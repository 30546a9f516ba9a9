import { expect, test } from 'vitest'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { Announcement } from '../../../store/hints.ts'
import { WaitersElsewhere } from './waiters-elsewhere.ts'

function scene() {
  const clock = virtualClock()
  const announced: Announcement[] = []
  const waiters = new WaitersElsewhere({ clock, announce: (one) => void announced.push(one) })
  return { clock, announced, waiters }
}

const changed = (to: string, ...iids: number[]): Announcement => ({ kind: 'changed', to, iids })

test('only processes that wait for an instance are notified when it changes', () => {
  const { announced, waiters } = scene()
  waiters.wait('a', [1, 2])
  waiters.wait('b', [2])

  waiters.changed(2)
  waiters.changed(3)

  expect(announced).toEqual([changed('a', 2), changed('b', 2)])
})

test('a process that announces its wait just after the change is still notified', async () => {
  const { clock, announced, waiters } = scene()
  waiters.changed(1)

  await clock.advance(900)
  waiters.wait('a', [1, 2])
  expect(announced).toEqual([changed('a', 1)])

  await clock.advance('10s')
  waiters.wait('b', [1])
  expect(announced).toHaveLength(1)
})

test('a wait that is not announced again is forgotten', async () => {
  const { clock, announced, waiters } = scene()
  waiters.wait('a', [1])
  waiters.wait('b', [2])

  for (let round = 0; round < 5; round++) {
    await clock.advance('30s')
    waiters.wait('a', [1])
  }
  waiters.changed(1)
  waiters.changed(2)

  expect(announced).toEqual([changed('a', 1)])
})

test('waits for an instance that has ended are forgotten', () => {
  const { announced, waiters } = scene()
  for (let iid = 1; iid <= 1_000; iid++) waiters.wait('a', [iid])

  for (let iid = 1; iid <= 1_000; iid++) waiters.ended(iid)

  expect(announced).toHaveLength(1_000)
  expect(waiters.size).toBe(0)
})

test('the number of remembered waits is bounded, for any number of instances', () => {
  const { announced, waiters } = scene()
  const LOT = 400

  for (let iid = 1; iid <= 1_000_000; iid += LOT) {
    waiters.wait(
      `listener${iid}`,
      Array.from({ length: LOT }, (_, i) => iid + i),
    )
  }
  waiters.changed(1_000_000)

  expect(waiters.size).toBeLessThanOrEqual(200_000)
  expect(announced).toHaveLength(1)
})

test('the number of remembered waits and notifications for one instance is bounded', () => {
  const { announced, waiters } = scene()
  const iids = Array.from({ length: 400 }, (_, i) => i + 1)

  for (let i = 0; i < 2_000; i++) waiters.wait(`listener${i}`, iids)
  waiters.changed(1)

  expect(waiters.size).toBeLessThanOrEqual(200_000)
  expect(announced.length).toBeLessThanOrEqual(1_000)
})

test('any number of processes may wait for one instance, and each is notified once', () => {
  const { announced, waiters } = scene()
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 1_000; i++) waiters.wait(`listener${i}`, [1])
  }

  waiters.changed(1)

  expect(announced).toHaveLength(1_000)
})
