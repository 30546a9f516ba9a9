import { expect, test } from 'vitest'
import { Recent } from './recent.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'

test('an entry is found for at least its time, and gone after twice that', async () => {
  const clock = virtualClock()
  const recent = new Recent<string, number>(clock, 1_000)
  await clock.advance(700)

  recent.set('a', 1)
  await clock.advance(1_000)
  expect(recent.get('a')).toBe(1)
  await clock.advance(1_000)
  expect(recent.get('a')).toBeUndefined()
})

test('an entry that is set again is found for longer', async () => {
  const clock = virtualClock()
  const recent = new Recent<string, number>(clock, 1_000)

  for (let round = 0; round < 10; round++) {
    recent.set('a', round)
    await clock.advance(900)
    expect(recent.get('a')).toBe(round)
  }
})

test('after a long pause nothing is left', async () => {
  const clock = virtualClock()
  const recent = new Recent<string, number>(clock, 1_000)
  recent.set('a', 1)

  await clock.advance('1h')

  expect(recent.get('a')).toBeUndefined()
  expect(recent.isEmpty).toBe(true)
})
