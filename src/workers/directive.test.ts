import { describe, expect, test } from 'vitest'

import {
  checkDirective,
  idle,
  mapPayload,
  proceed,
  sleep,
  stripPayload,
  type Directive,
} from './directive.ts'

function twice(n: number): number {
  return n * 2
}

describe('directives', () => {
  test('the short forms carry no payload [directive_convenience_constructors]', () => {
    expect(proceed()).toStrictEqual({ next: 'proceed', payload: undefined })
    expect(idle()).toStrictEqual({ next: 'idle', payload: undefined })
    expect(sleep('1s')).toStrictEqual({ next: 'sleep', ms: 1000, payload: undefined })
  })

  test('a stripped directive keeps its kind and its time [directive_strip]', () => {
    expect(stripPayload(proceed(42))).toStrictEqual(proceed())
    expect(stripPayload(idle('hello'))).toStrictEqual(idle())
    expect(stripPayload(sleep('5s', [1, 2]))).toStrictEqual(sleep('5s'))
  })

  test('a directive carries the payload it was given [directive_payload]', () => {
    expect(proceed(42).payload).toBe(42)
    expect(idle('hi').payload).toBe('hi')
    expect(sleep(5, null).payload).toBeNull()
  })

  test('a mapped directive keeps its kind and changes its payload [directive_map]', () => {
    expect(mapPayload(proceed(42), String)).toStrictEqual(proceed('42'))
    expect(mapPayload(idle(1), twice)).toStrictEqual(idle(2))
    expect(mapPayload(sleep('2s', 4), twice)).toStrictEqual(sleep('2s', 8))
  })

  test('a copy of a directive equals the original [directive_unit_is_copy]', () => {
    const original = idle()

    const copy: Directive = { ...original }

    expect(copy).toStrictEqual(original)
    expect(copy).not.toBe(original)
  })

  test('different kinds are never equal [directive_variants_are_distinct]', () => {
    expect(proceed()).not.toEqual(idle())
    expect(proceed()).not.toEqual(sleep(0))
    expect(idle()).not.toEqual(sleep('1s'))
  })

  test('sleeps of the same time are equal [directive_sleep_equality]', () => {
    expect(sleep(500)).toStrictEqual(sleep('500ms'))
    expect(sleep(500)).not.toEqual(sleep(501))
  })

  test.each([-1, NaN, Infinity, '5 s', 'soon', undefined])('a sleep of %s is refused', (time) => {
    expect(() => sleep(time as number)).toThrow(/^sleep: duration must be .* got /)
  })
})

describe('the check of what a pass returned', () => {
  test.each([proceed(), idle(1), sleep(0), sleep('1d')])('%j passes', (directive) => {
    expect(() => checkDirective(directive)).not.toThrow()
  })

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['idle', '"idle"'],
    [{}, 'an object'],
    [{ next: 'stop' }, 'an object'],
    [idle, 'a function (idle)'],
  ])('%j is refused with what was expected', (value, shown) => {
    expect(() => checkDirective(value)).toThrow(
      new TypeError(`a pass must return proceed(), idle() or sleep(…), got ${shown}`),
    )
  })

  test.each([undefined, '5s', -1, NaN, Infinity])('a sleep with the time %s is refused', (ms) => {
    expect(() => checkDirective({ next: 'sleep', ms })).toThrow(
      /^a pass returned sleep\(\) with an invalid duration, got /,
    )
  })
})
