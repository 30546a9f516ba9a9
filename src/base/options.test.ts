import { runInNewContext } from 'node:vm'

import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  flag,
  having,
  list,
  number,
  oneOf,
  option,
  resolveOptions,
  unknownName,
} from './options.ts'
import { duration } from './time/duration.ts'

const table = {
  timeout: duration(1_000, { min: 10 }),
  limit: duration(undefined),
  retries: number({ min: 0, integer: true }, 3),
  mode: oneOf(['fast', 'safe'], 'fast'),
  verbose: flag(false),
}
const names = Object.keys(table)

describe('resolving', () => {
  test('left-out options have their defaults', () => {
    const defaults = { timeout: 1_000, limit: undefined, retries: 3, mode: 'fast', verbose: false }

    expect(resolveOptions('pump', undefined, table)).toEqual(defaults)
    expect(resolveOptions('pump', {}, table)).toEqual(defaults)
    expect(resolveOptions('pump', { timeout: undefined, mode: undefined }, table)).toEqual(defaults)
  })

  test('given options are checked and kept, and the given object is not changed', () => {
    const given = Object.freeze({ timeout: '5s', retries: 0, mode: 'safe', verbose: true })

    const resolved = resolveOptions('pump', given, table)

    expect(resolved).toEqual({
      timeout: 5_000,
      limit: undefined,
      retries: 0,
      mode: 'safe',
      verbose: true,
    })
    expect(given.timeout).toBe('5s')
  })

  test('each resolved option has the type of its check', () => {
    const resolved = resolveOptions('pump', {}, table)

    expectTypeOf(resolved).toEqualTypeOf<{
      readonly timeout: number
      readonly limit: number | undefined
      readonly retries: number
      readonly mode: 'fast' | 'safe'
      readonly verbose: boolean
    }>()
  })

  class Settings {
    readonly retries = 1
  }

  test.each([
    null,
    5,
    'fast',
    [],
    () => {},
    new Map([['retries', 1]]),
    new Date(),
    Promise.resolve({}),
    new Settings(),
    Object.create(new Settings()) as object,
  ])('options given as %o are refused', (given) => {
    const act = () => resolveOptions('pump', given as object, table)

    expect(act).toThrow(TypeError)
    expect(act).toThrow(/^pump: options must be a plain object, got /)
  })

  test.each([
    Object.assign(Object.create(null), { retries: 1 }) as object,
    runInNewContext('({ retries: 1 })') as object,
    new Proxy({ retries: 1 }, {}),
  ])('a plain object of any origin is taken', (given) => {
    expect(resolveOptions('pump', given, table).retries).toBe(1)
  })

  test('options that an object only inherits are left out', () => {
    const given: object = Object.create({ retries: -5, unknown: 1 })

    expect(resolveOptions('pump', given, table).retries).toBe(3)
  })
})

describe('an unknown name', () => {
  test.each([
    ['timout', 'timeout'],
    ['Timeout', 'timeout'],
    ['retrys', 'retries'],
    ['moed', 'mode'],
    ['verbos', 'verbose'],
  ])('%s is refused with the guess %s', (name, guess) => {
    expect(() => resolveOptions('pump', { [name]: 1 }, table)).toThrow(
      new TypeError(`pump: unknown option "${name}", did you mean "${guess}"?`),
    )
  })

  test.each([
    ['maxRetries', 'maxAttempts'],
    ['attempts', 'maxAttempts'],
    ['retries', 'retry'],
    ['logger', 'log'],
    ['workflows', 'register'],
    ['workflowId', 'id'],
    ['instanceId', 'id'],
    ['connectionString', 'url'],
  ])('%s of other libraries is refused with the guess %s', (name, guess) => {
    const known = ['maxAttempts', 'retry', 'log', 'register', 'id', 'url', 'limits', 'works']
    const others = ['timeout']

    expect(unknownName('pump', 'option', name, known).message).toBe(
      `pump: unknown option "${name}", did you mean "${guess}"?`,
    )
    expect(unknownName('pump', 'option', name, others).message).toBe(
      `pump: unknown option "${name}"; the known options are timeout`,
    )
  })

  test('that resembles no known name is refused with all known names', () => {
    expect(() => resolveOptions('pump', { concurrency: 1 }, table)).toThrow(
      'pump: unknown option "concurrency"; the known options are timeout, limit, retries, mode, verbose',
    )
  })

  test('is refused even if its value is undefined', () => {
    expect(() => resolveOptions('pump', { timout: undefined }, table)).toThrow('unknown option')
  })

  test('of any spelling is refused', () => {
    const anyName = fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty'),
    )
    fc.assert(
      fc.property(anyName, fc.anything(), (name, value) => {
        fc.pre(!names.includes(name))

        expect(() => resolveOptions('pump', Object.fromEntries([[name, value]]), table)).toThrow(
          `pump: unknown option "${name}"`,
        )
      }),
    )
  })

  test('that is one slip away from a known one is guessed right', () => {
    const slip = fc.record({
      name: fc.constantFrom(...names),
      at: fc.nat(),
      letter: fc.stringMatching(/^[a-z]$/),
      kind: fc.constantFrom('drop', 'add', 'replace', 'swap'),
    })
    fc.assert(
      fc.property(slip, ({ name, at, letter, kind }) => {
        const i = at % name.length
        const [head, tail] = [name.slice(0, i), name.slice(i)]
        const typo = {
          drop: head + tail.slice(1),
          add: head + letter + tail,
          replace: head + letter + tail.slice(1),
          swap: head + tail.slice(1, 2) + tail.slice(0, 1) + tail.slice(2),
        }[kind]
        fc.pre(!names.includes(typo))

        expect(unknownName('pump', 'option', typo, names).message).toContain(
          `did you mean "${name}"?`,
        )
      }),
    )
  })
})

describe('checks', () => {
  test.each<[string, object, string]>([
    ['a negative duration', { timeout: -1 }, 'p: timeout must be a finite number of milliseconds'],
    ['a duration of NaN', { timeout: NaN }, 'p: timeout must be a finite number of milliseconds'],
    [
      'a duration in other words',
      { timeout: 'soon' },
      'p: timeout must be a number of milliseconds or a string',
    ],
    ['a duration too short', { timeout: '9ms' }, 'p: timeout must be at least 10 ms, got "9ms"'],
    ['null', { timeout: null }, 'p: timeout must be a number of milliseconds or a string'],
    ['a fraction', { retries: 1.5 }, 'p: retries must be a whole number, 0 or more, got 1.5'],
    ['a number too small', { retries: -1 }, 'p: retries must be a whole number, 0 or more, got -1'],
    ['NaN', { retries: NaN }, 'p: retries must be a whole number, 0 or more, got NaN'],
    ['Infinity as a whole number', { retries: Infinity }, 'p: retries must be a whole number'],
    ['digits as text', { retries: '3' }, 'p: retries must be a whole number, 0 or more, got "3"'],
    ['an unknown word', { mode: 'slow' }, `p: mode must be one of 'fast', 'safe', got "slow"`],
    ['a flag as a number', { verbose: 1 }, 'p: verbose must be true or false, got 1'],
  ])('%s is refused', (_, given, message) => {
    expect(() => resolveOptions('p', given, table)).toThrow(message)
  })

  test.each([
    [{ min: 2 }, 1, 'share must be a number, 2 or more, got 1'],
    [{ max: 2 }, 3, 'share must be a number, at most 2, got 3'],
    [{ min: 0, max: 1 }, 2, 'share must be a number, from 0 to 1, got 2'],
    [{}, NaN, 'share must be a number, got NaN'],
    [{}, '1', 'share must be a number, got "1"'],
    [{ integer: true }, 1.5, 'share must be a whole number, got 1.5'],
    [{}, Infinity, 'share must be a finite number, got Infinity'],
    [{}, -Infinity, 'share must be a finite number, got -Infinity'],
    [{ min: 0 }, Infinity, 'share must be a finite number, 0 or more, got Infinity'],
    [{ max: 0 }, -Infinity, 'share must be a finite number, at most 0, got -Infinity'],
  ])('a number outside %o is refused', (limits, value, message) => {
    expect(() => number(limits, 0).check(value, 'share')).toThrow(new RangeError(message))
  })

  test('the limits of a number belong to what is allowed', () => {
    const { check } = number({ min: 0, max: 1 }, 0)

    expect(check(0, 'share')).toBe(0)
    expect(check(1, 'share')).toBe(1)
  })

  test('an infinite number is taken where it is given as a limit', () => {
    expect(number({ max: Infinity }, 0).check(Infinity, 'share')).toBe(Infinity)
    expect(number({ min: -Infinity }, 0).check(-Infinity, 'share')).toBe(-Infinity)
    expect(number({}, 0).check(Number.MAX_VALUE, 'share')).toBe(Number.MAX_VALUE)
  })

  test('each item of a list is checked, and the error names its place', () => {
    const { check, fallback } = list(flag(false).check)

    expect(fallback).toEqual([])
    expect(check([true, false], 'p: steps')).toEqual([true, false])
    expect(() => check([true, 'no'], 'p: steps')).toThrow(
      'p: steps[1] must be true or false, got "no"',
    )
    expect(() => check('no', 'p: steps')).toThrow('p: steps must be a list, got "no"')
  })

  test('a hole in a list is checked as undefined', () => {
    const { check } = list(flag(false).check)
    const holed: unknown[] = [true]
    holed[2] = true

    expect(() => check(holed, 'p: steps')).toThrow(
      'p: steps[1] must be true or false, got undefined',
    )
  })

  test('a checked list is a copy', () => {
    const given = [true]

    const checked = list(flag(false).check).check(given, 'p: steps')
    given.push(false)

    expect(checked).toEqual([true])
  })

  test('an object without a method it needs is refused by that method', () => {
    const check = having<{ open(): void; close(): void }>('a door', ['open', 'close'])
    const door = { open() {}, close() {} }

    expect(check(door, 'p: door')).toBe(door)
    expect(() => check({ open() {} }, 'p: door')).toThrow(
      new TypeError('p: door must be a door, but it has no method close()'),
    )
    expect(() => check(null, 'p: door')).toThrow('p: door must be a door, got null')
    expect(() => check(5, 'p: door')).toThrow('p: door must be a door, got 5')
  })

  test('a method may come from the class of the object', () => {
    const { signal } = new AbortController()

    expect(having<AbortSignal>('a signal', ['addEventListener'])(signal, 'p')).toBe(signal)
  })

  test('an option with its own check uses that check and its default', () => {
    const even = option((value, what) => `${what}=${String(value)}`, null)

    const { a, b } = resolveOptions('p', { a: 2 }, { a: even, b: even })

    expect([a, b]).toEqual(['p: a=2', null])
  })
})
