import { describe } from '../../base/describe.ts'

// Control characters, and halves of pairs, which no database keeps.
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNFIT = /[\x00-\x1f\p{Surrogate}]/u

/** Whether text can stand between the separators of history, and in any database, as it is. */
export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && !UNFIT.test(value)
}

/** Names end up in history between separators, in logs and in messages. */
export function checkName(kind: string, name: unknown): string {
  return `"${checkText(name, `${kind}: name`, 200)}"`
}

/** Ids are shown to people, stand in URLs and file names, and are compared as they are. */
export function checkId(value: unknown, what: string): string {
  return checkText(value, what, 500)
}

function checkText(value: unknown, what: string, longest: number): string {
  if (isPlainText(value) && value !== '' && value.length <= longest) return value
  throw new TypeError(
    `${what} must be text of 1 to ${longest} characters without control characters, got ${describe(value)}`,
  )
}
