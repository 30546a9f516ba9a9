import { expect, test } from 'vitest'
import { Halves } from './halves.ts'

test('nothing is divided before it is known how long the disk takes', () => {
  expect(new Halves().firstOf(512)).toBe(512)
})

test('a pile is divided where the disk takes less than what could be done meanwhile', () => {
  const halves = new Halves()

  halves.took(500, 500 * 0.013 + 1)

  expect([100, 199, 201, 511].map((waiting) => halves.firstOf(waiting))).toEqual([
    100, 199, 101, 256,
  ])
})

test('a few are never divided, however fast the disk is', () => {
  const halves = new Halves()

  halves.took(500, 1)

  expect([1, 127, 128].map((waiting) => halves.firstOf(waiting))).toEqual([1, 127, 64])
})
