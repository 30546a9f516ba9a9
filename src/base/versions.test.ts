import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkVersion, compareVersions, latestOf, nextMinor } from './versions.ts'

// Small parts, so that many versions agree in most of them.
const whole = fc.oneof(fc.nat(3), fc.maxSafeNat()).map(String)
const identifier = fc.oneof(whole, fc.stringMatching(/^[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,2}$/))
const preRelease = fc.array(identifier, { maxLength: 3 })
const core = fc.tuple(whole, whole, whole).map((numbers) => numbers.join('.'))
const version = fc
  .tuple(core, preRelease)
  .map(([numbers, ids]) => (ids.length === 0 ? numbers : `${numbers}-${ids.join('.')}`))

describe('the order of versions', () => {
  test('numbers go before words, fewer parts before more, pre-releases before their release', () => {
    const inOrder = [
      '0.0.0-0',
      '0.0.0',
      '0.0.9',
      '0.0.10',
      '0.2.0',
      '1.0.0--',
      '1.0.0-Beta',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.2',
      '1.0.0-alpha.10',
      '1.0.0-alpha.10.0',
      '1.0.0-alpha.beta',
      '1.0.0-alpha0',
      '1.0.0-beta',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1-rc.1',
      '1.1.0',
      '2.0.0',
      '10.0.0',
      '9007199254740993.0.0',
      '9007199254740994.0.0',
    ]

    for (const [i, a] of inOrder.entries()) {
      for (const [j, b] of inOrder.entries()) {
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)])
      }
    }
  })

  test('it is one order: of two versions one is later, unless they are the same', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(Math.sign(compareVersions(a, b))).toBe(0 - Math.sign(compareVersions(b, a)))
        expect(compareVersions(a, b) === 0).toBe(a === b)
      }),
    )
  })

  test('it is one order: what comes before a version comes before all later ones', () => {
    fc.assert(
      fc.property(version, version, version, (...three) => {
        const [first, second, third] = three.toSorted(compareVersions) as [string, string, string]

        expect(compareVersions(first, second)).toBeLessThanOrEqual(0)
        expect(compareVersions(second, third)).toBeLessThanOrEqual(0)
        expect(compareVersions(first, third)).toBeLessThanOrEqual(0)
      }),
    )
  })

  test('it agrees with a key that sorts as text', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const [keyA, keyB] = [sortKey(a), sortKey(b)]

        expect(Math.sign(compareVersions(a, b))).toBe(keyA === keyB ? 0 : keyA < keyB ? -1 : 1)
      }),
    )
  })
})

/** A model: numbers padded to one width, and marks that put each kind of part in its place. */
function sortKey(text: string): string {
  const dash = text.indexOf('-')
  const numbers = dash < 0 ? text : text.slice(0, dash)
  const head = numbers.split('.').map(pad).join('')
  if (dash < 0) return `${head}~`
  const ids = text.slice(dash + 1).split('.')
  return head + ids.map((id) => (/^\d+$/.test(id) ? `!0${pad(id)}` : `!1${id}`)).join('') + ' '
}

function pad(digits: string): string {
  return digits.padStart(20, '0')
}

function latest(...versions: string[]): string | undefined {
  return latestOf(versions.map((one) => ({ version: one })))?.version
}

describe('the latest of several versions', () => {
  test('is the last release, even if pre-releases follow it', () => {
    expect(latest('1.9.0', '1.10.0', '1.2.0')).toBe('1.10.0')
    expect(latest('2.0.0-rc.1', '1.0.0', '2.0.0-beta')).toBe('1.0.0')
  })

  test('is the last pre-release where nothing is released', () => {
    expect(latest('1.0.0-rc.1', '1.0.0-rc.2', '1.0.0-beta')).toBe('1.0.0-rc.2')
  })

  test('of none there is none', () => {
    expect(latest()).toBeUndefined()
  })

  test('does not depend on the order in which they are given', () => {
    fc.assert(
      fc.property(fc.uniqueArray(version, { minLength: 1 }), (versions) => {
        expect(latest(...versions.toReversed())).toBe(latest(...versions))
      }),
    )
  })
})

describe('a version', () => {
  test.each([['0.0.0'], ['1.20.300'], ['1.0.0-0'], ['1.0.0-alpha.1'], ['1.0.0--'], ['1.0.0-01a']])(
    '%s is one',
    (text) => {
      expect(checkVersion(text, 'x')).toBe(text)
    },
  )

  test.each([
    ['1'],
    ['1.0'],
    ['1.0.0.0'],
    ['01.0.0'],
    ['1.0.0-'],
    ['1.0.0-a..b'],
    ['1.0.0-.'],
    ['1.0.0-01'],
    ['1.0.0-ä'],
    ['1.0.0+7'],
    ['v1.0.0'],
    ['1.0.0\n'],
    ['latest'],
    [1],
    [null],
  ])('%j is none', (value) => {
    expect(() => checkVersion(value, 'start: version')).toThrow(
      /^start: version must be a semantic version such as '1\.2\.0', got /,
    )
  })

  test('has up to 256 characters', () => {
    const longest = `1.0.0-${'a'.repeat(250)}`

    expect(checkVersion(longest, 'x')).toBe(longest)
    expect(() => checkVersion(`${longest}a`, 'start: version')).toThrow(
      'start: version must not be longer than 256 characters, got 257: "1.0.0-aaa',
    )
  })

  test('every one that is made by the rules is one', () => {
    fc.assert(
      fc.property(version, (text) => {
        expect(checkVersion(text, 'x')).toBe(text)
      }),
    )
  })
})

test.each([
  ['1.2.5', '1.3.0'],
  ['0.9.0', '0.10.0'],
  ['2.0.0-beta.1', '2.1.0'],
  ['1.9007199254740993.0', '1.9007199254740994.0'],
])('the next minor version after %s is %s', (before, next) => {
  expect(nextMinor(before)).toBe(next)
})
