import { StoreError } from '../../store/store-error.ts'
import { TEXT_SEPARATOR } from '../connect/rows.ts'

// Writes lists as parameters. Numbers go as array literals and texts as one text joined by U+0001,
// which the server splits: the driver would quote and escape each by itself, at several times the
// cost.

const LIST_SEPARATOR = '\x02'

// PostgreSQL takes no value of a gigabyte, and a character may need three bytes. It answers a larger
// message by cutting the connection, which would look as if trying again could help.
const MAX_LENGTH = 2 ** 28

/** A list of numbers or booleans as an array literal. */
export function listOf(values: readonly (number | boolean | null)[]): string {
  let literal = '{'
  for (let i = 0; i < values.length; i++) {
    if (i > 0) literal += ','
    literal += values[i] ?? 'null'
  }
  return literal + '}'
}

/** A list of texts as an array literal. Costs more than `joinTexts`: for lists that are rarely sent. */
export function textArray(texts: readonly string[]): string {
  return `{${texts.map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** Many texts as one. Throws `rejected` when they are too long together. */
export function joinTexts(operation: string, texts: readonly string[]): string {
  return joined(operation, texts, TEXT_SEPARATOR)
}

/** Several results of `listOf` and `joinTexts` as one text. For lists that are rarely sent. */
export function packLists(operation: string, lists: readonly string[]): string {
  return joined(operation, lists, LIST_SEPARATOR)
}

function joined(operation: string, texts: readonly string[], separator: string): string {
  let length = texts.length
  for (const { length: own } of texts) length += own
  if (length > MAX_LENGTH) {
    throw new StoreError(
      'rejected',
      operation,
      `this has ${length} characters, and PostgreSQL accepts ${MAX_LENGTH} at once; store large ` +
        'data elsewhere, and pass a reference to it',
    )
  }
  return texts.join(separator)
}
