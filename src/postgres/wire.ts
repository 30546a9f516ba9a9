import { StoreError } from '../store/store-error.ts'

// How lists travel to and from the server.
//
// Numbers go as array literals and texts as one text joined by U+0001, which the server splits: the
// driver would quote and escape each by itself, at several times the cost. Answers come as the text
// the server sent, whatever parsers the process has set for `pg`.

const SEPARATOR = '\x01'
const LIST_SEPARATOR = '\x02'

// PostgreSQL takes no value of a gigabyte, and a character may need three bytes. It answers a larger
// message by cutting the connection, which would look as if trying again could help.
const MAX_LENGTH = 2 ** 28

/** A list of numbers or truths as an array literal. */
export function listOf(values: readonly (number | boolean | null)[]): string {
  let literal = '{'
  for (let i = 0; i < values.length; i++) {
    if (i > 0) literal += ','
    literal += values[i] ?? 'null'
  }
  return literal + '}'
}

/** A list of texts as an array literal. Costs more than `joinTexts`: for lists that are seldom sent. */
export function textArray(texts: readonly string[]): string {
  return `{${texts.map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** Many texts as one. Throws `rejected` when they are too long together. */
export function joinTexts(operation: string, texts: readonly string[]): string {
  return joined(operation, texts, SEPARATOR)
}

/** Lists as one text: what `listOf` and `joinTexts` made. For lists that are seldom sent. */
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
      `this has ${length} characters, and PostgreSQL takes ${MAX_LENGTH} at once; keep what is so ` +
        'large elsewhere, and pass on where it is',
    )
  }
  return texts.join(separator)
}

/** A row as the server sent it: texts by column, `null` where there is no value. */
export type Row = Readonly<Record<string, string | null>>

/** The text in a column that always has one. */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (value === null || value === undefined) {
    throw new StoreError('corrupt', 'read', `column "${column}" has no value`)
  }
  return value
}

/** The number in a column that always has one. */
export function whole(row: Row, column: string): number {
  return Number(text(row, column))
}

/** The number in a column, or `null`. */
export function wholeOrNull(row: Row, column: string): number | null {
  const value = row[column]
  return value === null || value === undefined ? null : Number(value)
}

/** Texts that the server joined as `joinTexts` does; none when the column has no value. */
export function splitTexts(row: Row, column: string): string[] {
  return row[column]?.split(SEPARATOR) ?? []
}

/** The numbers of an array in a column; none when the column is empty. */
export function wholes(row: Row, column: string): number[] {
  const value = row[column]
  if (value === null || value === undefined || value === '{}') return []
  return value.slice(1, -1).split(',').map(Number)
}

/** As `wholes`, where entries may have no value. */
export function wholesOrNull(row: Row, column: string): (number | null)[] {
  const value = row[column]
  if (value === null || value === undefined || value === '{}') return []
  return value
    .slice(1, -1)
    .split(',')
    .map((entry) => (entry === 'NULL' ? null : Number(entry)))
}
