import { describe, expect, test } from 'vitest'

import { virtualClock } from '../../testing/virtual-clock.ts'
import { Alarms } from './alarms.ts'
import { StoreClock } from './store-clock.ts'

function openAlarms() {
  const clock = virtualClock()
  const time = new StoreClock(clock)
  time.saw(1_000)
  const alarms = new Alarms(clock, time)
  const rung: [string, number][] = []
  const alarm = (name: string) => ({ ring: () => void rung.push([name, time.now()]) })
  return { clock, time, alarms, rung, alarm }
}

describe('alarms', () => {
  test('they ring at their moments of store time, those of one moment in order', async () => {
    const { clock, alarms, rung, alarm } = openAlarms()
    alarms.set(alarm('b'), 1_200)
    alarms.set(alarm('a'), 1_100)
    alarms.set(alarm('b2'), 1_200)
    alarms.set(alarm('past'), 5)

    await clock.advance(300)

    expect(rung).toEqual([
      ['past', 1_000],
      ['a', 1_100],
      ['b', 1_200],
      ['b2', 1_200],
    ])
    expect(clock.pending).toBe(0)
  })

  test('they ring at once when the clock of the store was set forward past their moment', async () => {
    const { clock, time, alarms, rung, alarm } = openAlarms()
    time.onStepForward = () => alarms.rearm()
    alarms.set(alarm('a'), 3_600_000)

    time.saw(3_700_000)
    await clock.advance(0)

    expect(rung).toEqual([['a', 3_700_000]])
  })

  test('any number of them needs one timer', async () => {
    const { clock, alarms, alarm } = openAlarms()
    for (let i = 0; i < 100; i++) alarms.set(alarm(`${i}`), 2_000 + i)

    expect(clock.pending).toBe(1)
    await clock.advance(2_000)
    expect(clock.pending).toBe(0)
  })

  test('one that is set twice rings once, at the earlier moment', async () => {
    const { clock, alarms, rung, alarm } = openAlarms()
    const one = alarm('one')
    alarms.set(one, 1_500)
    alarms.set(one, 1_100)
    alarms.set(one, 1_900)

    await clock.advance(1_000)

    expect(rung).toEqual([['one', 1_100]])
  })

  test('one that is cancelled does not ring', async () => {
    const { clock, alarms, rung, alarm } = openAlarms()
    const one = alarm('one')
    alarms.set(one, 1_100)
    alarms.set(alarm('two'), 1_200)
    alarms.cancel(one)

    await clock.advance(1_000)

    expect(rung).toEqual([['two', 1_200]])
  })

  test('after all were cleared nothing rings, and new ones can be set', async () => {
    const { clock, alarms, rung, alarm } = openAlarms()
    alarms.set(alarm('one'), 1_100)
    alarms.clear()
    expect(clock.pending).toBe(0)
    alarms.set(alarm('two'), 1_300)

    await clock.advance(1_000)

    expect(rung).toEqual([['two', 1_300]])
  })

  test('one set while another rings is not forgotten', async () => {
    const { clock, alarms, rung, alarm } = openAlarms()
    alarms.set({ ring: () => alarms.set(alarm('next'), 1_150) }, 1_100)

    await clock.advance(1_000)

    expect(rung).toEqual([['next', 1_150]])
  })

  test('a store clock that turns out to be ahead makes them ring no later', async () => {
    const { clock, time, alarms, rung, alarm } = openAlarms()
    alarms.set(alarm('one'), 1_100)
    time.saw(5_000)

    await clock.advance(200)

    expect(rung).toHaveLength(1)
  })
})
