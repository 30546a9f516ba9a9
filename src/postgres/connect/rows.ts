import { StoreError } from '../../store/store-error.ts'

// Reads the columns of an answer. Values are the text that the server sent, whatever parsers the
// process has set for `pg`.

/** Joins several texts into one, in parameters and in answers. */
export const TEXT_SEPARATOR = '\x01'

/** A row as the server sent it: texts by column, `null` where there is no value. */
export type Row = Readonly<Record<string, string | null>>

/** The text in a column that always has one. */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (value === null || value === undefined) {
    throw new StoreError('corrupt', 'read', `column "${column}" is null`)
  }
  return value
}

/** The number in a column that always has one. */
export function int(row: Row, column: string): number {
  return Number(text(row, column))
}

/** The number in a column, or `null`. */
export function intOrNull(row: Row, column: string): number | null {
  const value = row[column]
  return value === null || value === undefined ? null : Number(value)
}

/** Texts that the server joined as `joinTexts` does; none when the column has no value. */
export function splitTexts(row: Row, column: string): string[] {
  return row[column]?.split(TEXT_SEPARATOR) ?? []
}

/** The numbers of an array in a column; none when the column is empty. */
export function ints(row: Row, column: string): number[] {
  const value = row[column]
  if (value === null || value === undefined || value === '{}') return []
  return value.slice(1, -1).split(',').map(Number)
}

/** As `wholes`, where entries may have no value. */
export function intsOrNull(row: Row, column: string): (number | null)[] {
  const value = row[column]
  if (value === null || value === undefined || value === '{}') return []
  return value
    .slice(1, -1)
    .split(',')
    .map((entry) => (entry === 'NULL' ? null : Number(entry)))
}
