import { describe } from '../../base/describe.ts'
import { isPlainText } from '../../base/plain-text.ts'

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
