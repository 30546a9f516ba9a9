import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { uuidMaker } from './ids.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const NOON = Date.UTC(2030, 5, 1, 12)

const filledWith = (byte: number) => (bytes: Uint8Array) => bytes.fill(byte)
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
const sequenceOf = (id: string): number => Number.parseInt(id.slice(15, 18), 16)

const isUuid7 = (id: string): boolean => UUID_V7.test(id)

function isStrictlyRising(ids: readonly string[]): boolean {
  return ids.every((id, i) => i === 0 || ids[i - 1]! < id)
}

test('an id has the form, the version and the variant of UUID version 7', () => {
  const make = uuidMaker()

  const ids = Array.from({ length: 1_000 }, make)

  expect(ids.every(isUuid7)).toBe(true)
})

test.each([0x00, 0xff])('the version and the variant hold when every random byte is %d', (byte) => {
  const id = uuidMaker(() => NOON, filledWith(byte))()

  expect(id).toMatch(UUID_V7)
  expect(timeOf(id)).toBe(NOON)
})

test('an id begins with the time it was made at', () => {
  const before = Date.now()
  const id = uuidMaker()()
  const after = Date.now()

  expect(timeOf(id)).toBeGreaterThanOrEqual(before)
  expect(timeOf(id)).toBeLessThanOrEqual(after)
})

test('all bits besides time and counter are random', () => {
  const make = uuidMaker()

  const tails = new Set(Array.from({ length: 1_000 }, () => make().slice(19)))

  expect(tails.size).toBe(1_000)
})

test('ids of one millisecond rise in the order they were made', () => {
  const make = uuidMaker(() => NOON)

  const ids = Array.from({ length: 2_000 }, make)

  expect(isStrictlyRising(ids)).toBe(true)
  expect(new Set(ids.map(timeOf))).toEqual(new Set([NOON]))
})

test('a millisecond has room for 2,048 ids wherever its counter starts', () => {
  const make = uuidMaker(() => NOON, filledWith(0xff))

  const ids = Array.from({ length: 2_049 }, make)

  expect(sequenceOf(ids[0]!)).toBe(0x7ff)
  expect(new Set(ids.map(timeOf))).toEqual(new Set([NOON]))
  expect(sequenceOf(ids.at(-1)!)).toBe(0xfff)
})

test('ids that do not fit into a millisecond borrow from the next and still rise', () => {
  const make = uuidMaker(() => NOON, filledWith(0))

  const ids = Array.from({ length: 10_000 }, make)

  expect(isStrictlyRising(ids)).toBe(true)
  expect([ids[4_095], ids[4_096]].map((id) => timeOf(id!))).toEqual([NOON, NOON + 1])
  expect(sequenceOf(ids[4_096]!)).toBe(0)
  expect(ids.every(isUuid7)).toBe(true)
})

test('ids still rise when the clock is set back', () => {
  let now = NOON
  const make = uuidMaker(() => now)

  const before = make()
  now -= 3_600_000
  const during = make()
  now += 3_600_001
  const after = make()

  expect(isStrictlyRising([before, during, after])).toBe(true)
  expect([before, during, after].map(timeOf)).toEqual([NOON, NOON, NOON + 1])
})

test.each([0, -1, Date.UTC(1960, 0, 1), NaN])('ids keep their form at the date %d', (date) => {
  const make = uuidMaker(() => date)

  const ids = Array.from({ length: 5_000 }, make)

  expect(isStrictlyRising(ids)).toBe(true)
  expect(ids.every(isUuid7)).toBe(true)
})

test('a hundred thousand ids of two makers differ, and those of each maker rise', () => {
  const [makeLeft, makeRight] = [uuidMaker(), uuidMaker()]
  const left: string[] = []
  const right: string[] = []
  for (let i = 0; i < 50_000; i++) {
    left.push(makeLeft())
    right.push(makeRight())
  }

  expect(new Set([...left, ...right]).size).toBe(100_000)
  expect(isStrictlyRising(left)).toBe(true)
  expect(isStrictlyRising(right)).toBe(true)
})

test('ids rise whatever the clock does', () => {
  const steps = fc.array(fc.record({ move: fc.integer({ min: -50, max: 50 }), count: fc.nat(50) }))
  fc.assert(
    fc.property(steps, fc.nat(255), (all, byte) => {
      let now = NOON
      const make = uuidMaker(() => now, filledWith(byte))
      const ids: string[] = []

      for (const { move, count } of all) {
        now += move
        for (let i = 0; i < count; i++) ids.push(make())
      }

      expect(isStrictlyRising(ids)).toBe(true)
      expect(ids.every(isUuid7)).toBe(true)
    }),
  )
})
