import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Duration, durationMs } from './duration.ts'

test.each([
  ['250ms', 250],
  ['5s', 5_000],
  ['10m', 600_000],
  ['2h', 7_200_000],
  ['3d', 259_200_000],
  ['1.5s', 1_500],
  ['0s', 0],
  [0, 0],
  [0.25, 0.25],
  [1_500, 1_500],
] as [Duration, number][])('the duration %o is %d milliseconds', (value, ms) => {
  expect(durationMs(value, 'timeout')).toBe(ms)
})

test.each([-1, -0.001, NaN, Infinity, -Infinity])(
  'the number %d is refused as a duration',
  (value) => {
    expect(() => durationMs(value, 'retry: timeout')).toThrow(
      new RangeError(
        `retry: timeout must be a finite number of milliseconds, 0 or more, got ${value}`,
      ),
    )
  },
)

test.each(['', '5', 's', '-5s', '+5s', '5 s', ' 5s', '5s ', '5S', '5sec', '1e3s', '0x10s', '.5s'])(
  'the text %o is refused as a duration',
  (text) => {
    const act = () => durationMs(text as Duration, 'timeout')

    expect(act).toThrow(RangeError)
    expect(act).toThrow(/^timeout must be milliseconds or text such as '250ms'/)
    expect(act).toThrow(`got ${JSON.stringify(text)}`)
  },
)

test('text with so many digits that they make Infinity is refused', () => {
  const text = `${'9'.repeat(400)}s` as Duration

  expect(() => durationMs(text, 'timeout')).toThrow(RangeError)
})

test.each([null, undefined, true, 5n, {}, [5], ['5s']])(
  'the value %o is refused as a duration',
  (value) => {
    expect(() => durationMs(value as Duration, 'timeout')).toThrow(RangeError)
  },
)

test('every whole number means the same in text and as milliseconds', () => {
  fc.assert(
    fc.property(fc.nat(), (n) => {
      expect(durationMs(`${n}ms`, 'n')).toBe(n)
      expect(durationMs(`${n}s`, 'n')).toBe(durationMs(n * 1_000, 'n'))
      expect(durationMs(`${n}m`, 'n')).toBe(durationMs(`${n * 60}s`, 'n'))
      expect(durationMs(`${n}h`, 'n')).toBe(durationMs(`${n * 60}m`, 'n'))
      expect(durationMs(`${n}d`, 'n')).toBe(durationMs(`${n * 24}h`, 'n'))
    }),
  )
})

test('every text gives a finite number that is not negative, or a RangeError', () => {
  const likely = fc.stringMatching(/^[0-9.e+-]{0,5}(ms|s|m|h|d)?$/)
  fc.assert(
    fc.property(fc.oneof(fc.string(), likely), (text) => {
      let result: unknown
      try {
        result = durationMs(text as Duration, 'n')
      } catch (error) {
        result = error
      }

      expect(
        result instanceof RangeError || (Number.isFinite(result) && (result as number) >= 0),
      ).toBe(true)
    }),
  )
})
