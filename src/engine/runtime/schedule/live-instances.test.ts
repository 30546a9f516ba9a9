import { describe, expect, test } from 'vitest'

import { STARTED, testInstance } from '../../../../test/support/executions.ts'
import { LiveInstances } from './live-instances.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

const claim = (instance: LiveInstance, more: object = {}) => ({
  iid: instance.iid,
  epoch: 2,
  execution: instance.execution,
  turn: instance.turn,
  deaths: 0,
  doing: '',
  ...more,
})

/** An instance with so many turns, whose code was given so many bytes. */
function instanceOf(iid: number, handedBytes = 0, turns = 3): LiveInstance {
  const past = Array.from({ length: turns }, (_, at) => ({ at, events: [STARTED] }))
  const instance = testInstance(`i-${iid}`, turns === 0 ? undefined : past, { iid })
  if (handedBytes > 0) {
    const { turn, at } = instance
    const events = ' '.repeat(handedBytes)
    instance.committed({ execution: 1, turn, at, first: turn, count: 1, events }, [])
  }
  return instance
}

const isDropped = ({ run }: LiveInstance): boolean => {
  // A dropped execution answers, wherever it is asked; another refuses outside a turn.
  try {
    void run.give({ type: 'step', command: 0, name: 'x' }, undefined)
    return true
  } catch {
    return false
  }
}

describe('live instances', () => {
  test('owned ones are found by number, and counted', () => {
    const instances = new LiveInstances()
    const [one, two] = [instanceOf(1), instanceOf(2, 0, 0)]
    instances.add(one)
    instances.add(two)

    expect([instances.get(1), instances.get(2), instances.get(3)]).toEqual([one, two, undefined])
    expect(instances.owned).toBe(2)
    expect([...instances]).toEqual([one, two])
    expect(instances.cachedInstances()).toEqual([{ iid: 1, epoch: 1, execution: 1, turn: 3 }])
    instances.remove(one)
    expect(instances.get(1)).toBeUndefined()
  })

  test('a released instance that is removed is not used again', () => {
    const instances = new LiveInstances()
    const instance = instanceOf(1)
    instances.add(instance)
    instances.release(instance)

    instances.remove(instance)

    expect(instances.adopt(claim(instance))).toBeUndefined()
  })

  test('a released instance is used again when the store has no other turn', () => {
    const instances = new LiveInstances()
    const instance = instanceOf(1)
    instances.add(instance)
    instances.release(instance)

    expect(instances.owned).toBe(0)
    expect(instances.adopt(claim(instance))).toBe(instance)
    expect(instances.adopt(claim(instance))).toBeUndefined()
    expect(isDropped(instance)).toBe(false)
  })

  test.each([{ turn: 4 }, { execution: 2 }, { turn: 2 }])(
    'an instance that is behind the store is dropped: %j',
    (more) => {
      const instances = new LiveInstances()
      const instance = instanceOf(1)
      instances.release(instance)

      expect(instances.adopt(claim(instance, more))).toBeUndefined()
      expect(isDropped(instance)).toBe(true)
    },
  )

  test('a thousand released instances are kept; those released longest ago go first', () => {
    const instances = new LiveInstances()
    const all = Array.from({ length: 1_010 }, (_, i) => instanceOf(i + 1))
    for (const instance of all) instances.release(instance)

    expect(all.filter(isDropped)).toEqual(all.slice(0, 10))
    expect(instances.adopt(claim(all[9]!))).toBeUndefined()
    expect(instances.adopt(claim(all[10]!))).toBe(all[10])
  })

  test('released ones are bounded by bytes as well', () => {
    const instances = new LiveInstances()
    const all = Array.from({ length: 10 }, (_, i) => instanceOf(i + 1, 10 << 20))
    for (const instance of all) instances.release(instance)

    expect(all.filter(isDropped)).toEqual(all.slice(0, 4))
    instances.forgetReleased()
    expect(all.every(isDropped)).toBe(true)
  })
})
