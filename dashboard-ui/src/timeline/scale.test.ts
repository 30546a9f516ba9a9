import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { labelPlace, ticksOf, timeScale } from './scale.ts'

const DAY = 86_400_000

test('a linear scale runs from the first moment to the end', () => {
  const scale = timeScale([1000, 2000], 5000, { collapse: false })

  expect([scale.x(1000), scale.x(2000), scale.x(5000)]).toEqual([0, 0.25, 1])
  expect(scale.at(0.5)).toBe(3000)
  expect(scale.breaks).toEqual([])
})

test('a sleep of two days beside two seconds of work takes a small part when collapsed', () => {
  const moments = [0, 500, 1000, 1500, 2 * DAY, 2 * DAY + 500]

  const scale = timeScale(moments, 2 * DAY + 500, { collapse: true })

  expect(scale.breaks).toHaveLength(1)
  expect(scale.x(2 * DAY) - scale.x(1500)).toBeLessThan(0.45)
  expect(scale.x(500)).toBeGreaterThan(0.14)
})

test('of many stretches, none takes more than a twelfth when collapsed', () => {
  const moments = Array.from({ length: 40 }, (_, i) => i * 100 + (i > 20 ? DAY : 0))

  const scale = timeScale(moments, moments.at(-1)!, { collapse: true })

  expect(scale.x(moments[21]!) - scale.x(moments[20]!)).toBeCloseTo(1 / 12, 5)
})

test('stretches of similar length stay as they are', () => {
  expect(timeScale([0, 300, 301, 701], 701, { collapse: true }).breaks).toEqual([])
})

test('every scale keeps the order of moments, and finds each again', () => {
  const times = fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1, maxLength: 60 })

  fc.assert(
    fc.property(times, fc.boolean(), (given, collapse) => {
      const moments = given.toSorted((a, b) => a - b)
      const scale = timeScale(moments, moments.at(-1)!, { collapse })
      const places = moments.map((at) => scale.x(at))

      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(places.every((x) => x >= 0 && x <= 1)).toBe(true)
      for (const at of moments) expect(Math.abs(scale.at(scale.x(at)) - at)).toBeLessThan(1)
    }),
  )
})

test('as many moments are labelled as there is room for', () => {
  const scale = timeScale([0, 1000, 2000], 4000, { collapse: false })

  expect(ticksOf(scale, 0.1)).toEqual([0, 0.25, 0.5, 0.75])
  expect(ticksOf(scale, 0.4)).toEqual([0, 0.5])
  expect(ticksOf(scale, 2)).toEqual([0])
})

test('a label within a stretch that is drawn shorter is moved to its end', () => {
  const scale = timeScale([0, 20, 40, DAY, DAY + 20, DAY + 40], DAY + 40, { collapse: true })

  const labelled = ticksOf(scale, 0.1)

  expect(labelled.map((x) => Math.round(scale.at(x)))).toEqual([0, 33, DAY])
})

test('the label of a bar is behind it, before it, or over it, and within the axis', () => {
  expect(labelPlace({ from: 0.2, to: 0.5 }, 0.3)).toEqual({ left: 0.5 })
  expect(labelPlace({ from: 0.4, to: 0.8 }, 0.3)).toEqual({ right: 0.6 })
  expect(labelPlace({ from: 0, to: 1 }, 0.3)).toEqual({ right: 0 })
  expect(labelPlace({ from: 0.1, to: 0.2 }, 0.9)).toEqual({ right: expect.closeTo(0.1) })
})
