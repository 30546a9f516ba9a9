// The order of versions, as in Semantic Versioning 2.0.
//
// Build metadata (`1.0.0+7`) is refused: it has no place in that order, so two versions that differ
// in nothing else would be equally late.

import { describe } from './describe.ts'

/** Longest version, in characters: as npm has it. */
const MAX_LENGTH = 256
const NUMBER = '(?:0|[1-9]\\d*)'
const IDENTIFIER = `(?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*)`
const VERSION = new RegExp(
  `^(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-(${IDENTIFIER}(?:\\.${IDENTIFIER})*))?$`,
)

/** Refuses what is not a semantic version; `what` begins the error message. */
export function checkVersion(value: unknown, what: string): string {
  if (typeof value === 'string' && value.length > MAX_LENGTH) {
    const limit = `must not be longer than ${MAX_LENGTH} characters`
    throw new RangeError(`${what} ${limit}, got ${value.length}: ${describe(value)}`)
  }
  if (typeof value === 'string' && VERSION.test(value)) return value
  throw new TypeError(`${what} must be a semantic version such as '1.2.0', got ${describe(value)}`)
}

/** Below 0 when `a` comes before `b`, above 0 when it comes after, 0 when they are the same. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [parts(a), parts(b)]
  for (let i = 0; i < 3; i++) {
    const order = compareNumbers(one.numbers[i]!, other.numbers[i]!)
    if (order !== 0) return order
  }
  return comparePreReleases(one.preRelease, other.preRelease)
}

/** The version to use if none is requested: the latest release, or else the latest pre-release. */
export function latestOf<T extends { readonly version: string }>(
  versioned: readonly T[],
): T | undefined {
  const releases = versioned.filter(({ version }) => parts(version).preRelease.length === 0)
  const candidates = releases.length > 0 ? releases : versioned
  return candidates.toSorted((a, b) => compareVersions(a.version, b.version)).at(-1)
}

/** The next minor version: `1.3.0` after `1.2.5`. */
export function nextMinor(version: string): string {
  const [major, minor] = parts(version).numbers
  return `${major}.${BigInt(minor!) + 1n}.0`
}

interface Parts {
  readonly numbers: readonly string[]
  readonly preRelease: readonly string[]
}

function parts(version: string): Parts {
  const [, major, minor, patch, preRelease] = VERSION.exec(checkVersion(version, 'version'))!
  return { numbers: [major!, minor!, patch!], preRelease: preRelease?.split('.') ?? [] }
}

function comparePreReleases(a: readonly string[], b: readonly string[]): number {
  // A pre-release comes before its release.
  if (a.length === 0 || b.length === 0) return b.length - a.length
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareIdentifiers(a[i]!, b[i]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [isDigits(a), isDigits(b)]
  if (isNumber && isOtherNumber) return compareNumbers(a, b)
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return compareTexts(a, b)
}

function isDigits(text: string): boolean {
  return /^\d+$/.test(text)
}

// As text: a number of any length keeps all its digits, and without leading zeros the longer one is
// the larger.
function compareNumbers(a: string, b: string): number {
  return a.length - b.length || compareTexts(a, b)
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
