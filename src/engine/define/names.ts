import { describe } from '../../base/describe.ts'

// Control characters separate the fields of history, and no database stores lone surrogates.
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSAFE = /[\x00-\x1f\p{Surrogate}]/u

/** Whether text can be stored in history, and in any database, without escaping. */
export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && !UNSAFE.test(value)
}

/** Validates the name of a definition, which appears in history, logs and messages; returns it quoted. */
export function checkName(kind: string, name: unknown): string {
  return `"${checkText(name, `${kind}: name`, 200)}"`
}

/** Validates an id. `what` begins the error message. */
export function checkId(value: unknown, what: string): string {
  return checkText(value, what, 500)
}

function checkText(value: unknown, what: string, maxLength: number): string {
  if (isPlainText(value) && value !== '' && value.length <= maxLength) return value
  throw new TypeError(
    `${what} must be a string of 1 to ${maxLength} characters without control characters, got ${describe(value)}`,
  )
}
