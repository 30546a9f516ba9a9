import { describe } from '../base/describe.ts'
import { MAX_REASON, shorten } from '../base/shorten.ts'

// SQLite keeps text as UTF-8: a lone surrogate becomes another character on the way, so that two
// keys could be taken for one, and some drivers end a text at its first NUL.

const UNKEPT = /\p{Surrogate}|\0/u
const ALL_UNKEPT = /\p{Surrogate}|\0/gu

/** Whether text would come back from the file as it went in. */
export function isKept(text: string): boolean {
  return !UNKEPT.test(text)
}

/** Longest name or key, in UTF-16 units. */
const MAX_NAME = 1_024

/** Checks a name or a key. */
export function nameText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') {
    throw new TypeError(`${what} must be a non-empty string, got ${describe(value)}`)
  }
  if (value.length > MAX_NAME) {
    const limit = `must not be longer than ${MAX_NAME} characters`
    throw new RangeError(`${what} ${limit}, got ${value.length}: ${describe(value)}`)
  }
  if (isKept(value)) return value
  throw new TypeError(
    `${what} must be a string without NUL and without lone surrogates, got ${describe(value)}`,
  )
}

/** Text in which what cannot be kept is replaced. */
function toKept(text: string): string {
  return isKept(text) ? text : text.replaceAll(ALL_UNKEPT, '\ufffd')
}

/** A reason as it is kept: shortened where it is too long. */
export function toReason(text: string): string {
  return toKept(shorten(text, MAX_REASON))
}

/** The name and the message of what was thrown, as text that can be kept. */
export function reasonOf(thrown: unknown): string {
  return textOf(thrown, (error) => `${error.name}: ${error.message}`)
}

/** The message of what was thrown, as text that can be kept. */
export function messageOf(thrown: unknown): string {
  return textOf(thrown, (error) => error.message)
}

// Whatever was thrown: its parts may do anything when they are read.
function textOf(thrown: unknown, toText: (error: Error) => string): string {
  try {
    return toReason(thrown instanceof Error ? toText(thrown) : String(thrown))
  } catch {
    return describe(thrown)
  }
}
