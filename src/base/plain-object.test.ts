import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { isPlainObject } from './plain-object.ts'

class Point {
  readonly x = 1
}

test.each([
  ['a literal', {}],
  ['a literal with a member named constructor', { constructor: 1 }],
  ['an object without a prototype', Object.create(null) as object],
  ['a literal of another realm', runInNewContext('({})') as object],
  ['a proxy of a literal', new Proxy({}, {})],
])('%s is a plain object', (_, value) => {
  expect(isPlainObject(value)).toBe(true)
})

test.each([
  ['null', null],
  ['a number', 1],
  ['a function', () => {}],
  ['an array', []],
  ['an array of another realm', runInNewContext('[]') as object],
  ['a map', new Map()],
  ['an instance of a class', new Point()],
  ['an object that inherits from a literal', Object.create({ x: 1 }) as object],
])('%s is not a plain object', (_, value) => {
  expect(isPlainObject(value)).toBe(false)
})
