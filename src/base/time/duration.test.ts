import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Duration, duration, durationMs, formatDuration, MAX_DURATION_MS } from './duration.ts'

test.each([
  ['250ms', 250],
  ['5s', 5_000],
  ['10m', 600_000],
  ['2h', 7_200_000],
  ['3d', 259_200_000],
  ['1.5s', 1_500],
  ['0s', 0],
  [0, 0],
  [0.25, 1],
  [30_000.5, 30_001],
  ['1.1h', 3_960_000],
  ['0.0014s', 1],
  ['0.4ms', 0],
  [8.64e15, 8.64e15],
  ['100000000d', 8.64e15],
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
    expect(act).toThrow(/^timeout must be a number of milliseconds or a string such as '250ms'/)
    expect(act).toThrow(`got ${JSON.stringify(text)}`)
  },
)

test.each([8.64e15 + 2, 1e300, '100000001d', `${'9'.repeat(400)}s`])(
  'the duration %o is refused, with the limit in the error',
  (value) => {
    const act = () => durationMs(value as Duration, 'retention')

    expect(act).toThrow(RangeError)
    expect(act).toThrow(/^retention must be at most 273785 years \('100000000d'\), got ["\d]/)
  },
)

test('an option names its own limit, which is compared with whole milliseconds', () => {
  const { check } = duration(undefined, { min: 1, max: 36_525 * 86_400_000 })

  expect(check(0.5, 'ttl')).toBe(1)
  expect(() => check('0.4ms', 'ttl')).toThrow('ttl must be at least 1 ms, got "0.4ms"')
  expect(() => check('36526d', 'ttl')).toThrow(
    `ttl must be at most 100 years ('36525d'), got "36526d"`,
  )
  expect(() => check(1e300, 'ttl')).toThrow(`ttl must be at most 100 years ('36525d'), got 1e+300`)
})

test.each([null, undefined, true, 5n, {}, [5], ['5s']])(
  'the value %o is refused as a duration',
  (value) => {
    expect(() => durationMs(value as Duration, 'timeout')).toThrow(RangeError)
  },
)

test('every whole number means the same in text and as milliseconds', () => {
  fc.assert(
    fc.property(fc.nat(100_000_000), (n) => {
      expect(durationMs(`${n}ms`, 'n')).toBe(n)
      expect(durationMs(`${n}s`, 'n')).toBe(durationMs(n * 1_000, 'n'))
      expect(durationMs(`${n}m`, 'n')).toBe(durationMs(`${n * 60}s`, 'n'))
      expect(durationMs(`${n}h`, 'n')).toBe(durationMs(`${n * 60}m`, 'n'))
      expect(durationMs(`${n}d`, 'n')).toBe(durationMs(`${n * 24}h`, 'n'))
    }),
  )
})

test('every text gives a whole number within the limit, or a RangeError', () => {
  const likely = fc.stringMatching(/^[0-9.e+-]{0,5}(ms|s|m|h|d)?$/)
  fc.assert(
    fc.property(fc.oneof(fc.string(), likely), (text) => {
      let result: unknown
      try {
        result = durationMs(text as Duration, 'n')
      } catch (error) {
        result = error
      }

      const ms = result as number
      const isWhole = Number.isInteger(ms) && ms >= 0 && ms <= MAX_DURATION_MS
      expect(result instanceof RangeError || isWhole).toBe(true)
    }),
  )
})

test.each([
  [250, '250ms'],
  [1_500, '1500ms'],
  [5_000, '5s'],
  [90_000, '90s'],
  [60_000, '1m'],
  [7_200_000, '2h'],
  [86_400_000, '1d'],
  [0, '0ms'],
])('%d ms are written as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})
