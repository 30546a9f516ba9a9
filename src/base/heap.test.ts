import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap } from './heap.ts'

function drain<K>(heap: Heap<K>): [K, number][] {
  const left: [K, number][] = []
  for (let first = heap.pop(); first; first = heap.pop()) left.push([first.key, first.at])
  return left
}

test('keys leave by their number, smallest first', () => {
  const heap = new Heap<string>()
  for (const [key, at] of [
    ['c', 3],
    ['a', 1],
    ['d', Infinity],
    ['b', -2.5],
  ] as const) {
    heap.set(key, at)
  }

  expect(drain(heap)).toEqual([
    ['b', -2.5],
    ['a', 1],
    ['c', 3],
    ['d', Infinity],
  ])
})

test('keys at one number leave in the order they came', () => {
  const heap = new Heap<number>()
  const keys = Array.from({ length: 100 }, (_, i) => i)
  for (const key of keys) heap.set(key, 7)

  expect(drain(heap).map(([key]) => key)).toEqual(keys)
})

test('a key that is added again is stored once, at the smaller number', () => {
  const heap = new Heap<string>()

  heap.add('a', 5)
  heap.add('a', 9)
  heap.add('a', 2)

  expect(heap.size).toBe(1)
  expect(drain(heap)).toEqual([['a', 2]])
})

test('a key that is added again at the same number keeps its turn', () => {
  const heap = new Heap<string>()
  heap.add('a', 5)
  heap.add('b', 5)

  heap.add('a', 5)

  expect(drain(heap).map(([key]) => key)).toEqual(['a', 'b'])
})

test('a key that is set again moves to the new number, also a larger one', () => {
  const heap = new Heap<string>()
  heap.set('a', 1)
  heap.set('b', 2)

  heap.set('a', 3)

  expect(heap.get('a')).toBe(3)
  expect(drain(heap)).toEqual([
    ['b', 2],
    ['a', 3],
  ])
})

test('looking at the first key leaves it in place', () => {
  const heap = new Heap<string>()
  heap.set('a', 1)

  expect(heap.peek()).toEqual({ key: 'a', at: 1 })
  expect(heap.size).toBe(1)
})

test('an empty heap has no first key', () => {
  const heap = new Heap<string>()

  expect(heap.peek()).toBeUndefined()
  expect(heap.pop()).toBeUndefined()
  expect(heap.get('a')).toBeUndefined()
  expect(heap.has('a')).toBe(false)
})

test('a deleted key is gone, and deleting it again says so', () => {
  const heap = new Heap<string>()
  heap.set('a', 1)
  heap.set('b', 2)

  expect(heap.delete('a')).toBe(true)
  expect(heap.delete('a')).toBe(false)
  expect(heap.has('a')).toBe(false)
  expect(drain(heap)).toEqual([['b', 2]])
})

test('a cleared heap is empty and can be used again', () => {
  const heap = new Heap<string>()
  heap.set('a', 1)

  heap.clear()
  heap.set('b', 2)

  expect(heap.has('a')).toBe(false)
  expect(drain(heap)).toEqual([['b', 2]])
})

test('a priority of NaN is rejected', () => {
  const heap = new Heap<string>()

  expect(() => heap.set('a', NaN)).toThrow(new RangeError('heap: priority must not be NaN'))
  expect(heap.size).toBe(0)
})

test('any sequence of changes gives the same as a sorted list', () => {
  const anyKey = fc.nat({ max: 12 })
  const anyAt = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(Infinity, -Infinity, -0))
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('set' as const), key: anyKey, at: anyAt }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('add' as const), key: anyKey, at: anyAt }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), key: anyKey }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pop' as const) }) },
  )
  const steps = fc.array(step, { maxLength: 80, size: 'large' })
  fc.assert(
    fc.property(steps, (all) => {
      const heap = new Heap<number>()
      let model: { key: number; at: number }[] = []
      // The list is sorted by a stable sort, so a key that is put last leaves last of its number.
      const put = (moved: { key: number; at: number }): void => {
        model = [...model.filter((held) => held.key !== moved.key), moved].toSorted((a, b) =>
          a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
        )
      }

      const [seen, expected]: [unknown[], unknown[]] = [[], []]
      for (const now of all) {
        if (now.kind === 'pop') {
          seen.push(heap.pop())
          expected.push(model.shift())
        } else if (now.kind === 'delete') {
          seen.push(heap.delete(now.key))
          expected.push(model.some((held) => held.key === now.key))
          model = model.filter((held) => held.key !== now.key)
        } else {
          const held = model.find((one) => one.key === now.key)
          heap[now.kind](now.key, now.at)
          if (now.kind === 'set' || held === undefined || now.at < held.at) {
            put({ key: now.key, at: now.at })
          }
        }
        seen.push([heap.size, heap.peek()])
        expected.push([model.length, model[0]])
      }
      seen.push(model.map(({ key }) => [heap.has(key), heap.get(key)]))
      expected.push(model.map(({ at }) => [true, at]))
      seen.push(drain(heap))
      expected.push(model.map(({ key, at }) => [key, at]))

      expect(seen).toEqual(expected)
    }),
    { numRuns: 100 },
  )
})

test('thousands of keys leave in order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true }), { minLength: 500, maxLength: 3_000 }),
      (ats) => {
        const heap = new Heap<number>()
        for (const [i, at] of ats.entries()) heap.set(i, at)

        const left = drain(heap).map(([, at]) => at)

        expect(left).toEqual(left.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)))
        expect(left).toHaveLength(ats.length)
      },
    ),
    { numRuns: 10 },
  )
})
