import { describe, expect, test } from 'vitest'

import { testCopy, values } from '../../../test/support/executions.ts'
import { Execution } from '../replay/execution.ts'
import { Copies } from './copies.ts'
import { type Copy, newCopy } from './copy.ts'

const claim = (copy: Copy, more: object = {}) => ({
  iid: copy.iid,
  epoch: 2,
  execution: copy.generation,
  turn: copy.turn,
  attempts: 0,
  doing: '',
  ...more,
})

function copyOf(iid: number, handedBytes = 0): Copy {
  const { definition } = testCopy('x')
  const copy = newCopy({
    ...testCopy(`i-${iid}`),
    iid,
    definition,
    run: new Execution(`i-${iid}`, values),
    input: '',
  })
  copy.turn = 3
  copy.handedBytes = handedBytes
  return copy
}

const isDropped = ({ run }: Copy): boolean => {
  // A dropped execution answers, wherever it is asked; another refuses outside a turn.
  try {
    void run.give({ type: 'step', command: 0, name: 'x' }, undefined)
    return true
  } catch {
    return false
  }
}

describe('copies', () => {
  test('owned ones are found by number, and counted', () => {
    const copies = new Copies()
    const [one, two] = [copyOf(1), copyOf(2)]
    two.turn = 0
    copies.add(one)
    copies.add(two)

    expect([copies.get(1), copies.get(2), copies.get(3)]).toEqual([one, two, undefined])
    expect(copies.owned).toBe(2)
    expect([...copies]).toEqual([one, two])
    expect(copies.standings()).toEqual([{ iid: 1, epoch: 1, execution: 1, turn: 3 }])
    copies.remove(one)
    expect(copies.get(1)).toBeUndefined()
  })

  test('a released one that is removed is not taken up again', () => {
    const copies = new Copies()
    const copy = copyOf(1)
    copies.add(copy)
    copies.release(copy)

    copies.remove(copy)

    expect(copies.adopt(claim(copy))).toBeUndefined()
  })

  test('a released one is taken up again when the store has seen no other turn', () => {
    const copies = new Copies()
    const copy = copyOf(1)
    copies.add(copy)
    copies.release(copy)

    expect(copies.owned).toBe(0)
    expect(copies.adopt(claim(copy))).toBe(copy)
    expect(copies.adopt(claim(copy))).toBeUndefined()
    expect(isDropped(copy)).toBe(false)
  })

  test.each([{ turn: 4 }, { execution: 2 }, { turn: 2 }])(
    'one that is behind is dropped: %j',
    (more) => {
      const copies = new Copies()
      const copy = copyOf(1)
      copies.release(copy)

      expect(copies.adopt(claim(copy, more))).toBeUndefined()
      expect(isDropped(copy)).toBe(true)
    },
  )

  test('a thousand released ones are kept, those that rested longest go first', () => {
    const copies = new Copies()
    const all = Array.from({ length: 1_010 }, (_, i) => copyOf(i + 1))
    for (const copy of all) copies.release(copy)

    expect(all.filter(isDropped)).toEqual(all.slice(0, 10))
    expect(copies.adopt(claim(all[9]!))).toBeUndefined()
    expect(copies.adopt(claim(all[10]!))).toBe(all[10])
  })

  test('released ones are bounded by bytes as well', () => {
    const copies = new Copies()
    const all = Array.from({ length: 10 }, (_, i) => copyOf(i + 1, 10 << 20))
    for (const copy of all) copies.release(copy)

    expect(all.filter(isDropped)).toEqual(all.slice(0, 4))
    copies.forgetReleased()
    expect(all.every(isDropped)).toBe(true)
  })
})
