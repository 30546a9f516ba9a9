import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Waiters } from './waiters.ts'

test('the first waiter to come is the first to leave', () => {
  const waiters = new Waiters<string>()
  waiters.add('a')
  waiters.add('b')
  waiters.add('c')

  const left = [waiters.shift(), waiters.shift(), waiters.shift(), waiters.shift()]

  expect(left).toEqual(['a', 'b', 'c', undefined])
  expect(waiters.size).toBe(0)
})

test('a waiter can leave from the front, the middle and the end', () => {
  const waiters = new Waiters<string>()
  const [a, , c, , e] = ['a', 'b', 'c', 'd', 'e'].map((waiter) => waiters.add(waiter))

  waiters.remove(a!)
  waiters.remove(c!)
  waiters.remove(e!)

  expect(waiters.size).toBe(2)
  expect([waiters.shift(), waiters.shift(), waiters.shift()]).toEqual(['b', 'd', undefined])
})

test('a place that was left or called already can be left again', () => {
  const waiters = new Waiters<string>()
  const a = waiters.add('a')
  const b = waiters.add('b')
  waiters.add('c')

  waiters.shift()
  waiters.remove(a)
  waiters.remove(b)
  waiters.remove(b)

  expect(waiters.size).toBe(1)
  expect(waiters.shift()).toBe('c')
})

test('a place that was left keeps no reference to its neighbours', () => {
  const waiters = new Waiters<string>()
  const [, b] = ['a', 'b', 'c'].map((waiter) => waiters.add(waiter))

  waiters.remove(b!)

  expect(b).toEqual({ waiter: 'b', before: undefined, after: undefined, held: false })
})

test('the same waiter may be in the queue several times', () => {
  const waiters = new Waiters<string>()
  const first = waiters.add('a')
  waiters.add('a')

  waiters.remove(first)

  expect(waiters.size).toBe(1)
  expect(waiters.shift()).toBe('a')
})

test('any sequence of entering, leaving and calling gives the same as an array', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const) }),
    fc.record({ kind: fc.constant('shift' as const) }),
    fc.record({ kind: fc.constant('remove' as const), which: fc.nat() }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const waiters = new Waiters<number>()
      const places: ReturnType<typeof waiters.add>[] = []
      const called: [number | undefined, number | undefined][] = []
      let model: number[] = []

      for (const { kind, ...rest } of steps) {
        if (kind === 'add') {
          model.push(places.length)
          places.push(waiters.add(places.length))
        } else if (kind === 'shift') {
          called.push([waiters.shift(), model.shift()])
        } else if ('which' in rest && places.length > 0) {
          const which = rest.which % places.length
          waiters.remove(places[which]!)
          model = model.filter((waiter) => waiter !== which)
        }
        expect(waiters.size).toBe(model.length)
      }
      expect(called.every(([waiter, expected]) => waiter === expected)).toBe(true)
      expect(model.map(() => waiters.shift())).toEqual(model)
      expect(waiters.shift()).toBeUndefined()
    }),
  )
})
