// What a command shows, in the format that was asked for.

import { toJson } from './plain-json.ts'
import { safeText } from './safe-text.ts'
import { type Column, recordLines, tableLines } from './table.ts'
import type { Terminal } from './terminal.ts'

/** The formats of `--output`. */
export const FORMATS = ['table', 'json', 'ids'] as const

/** A format of `--output`. */
export type Format = (typeof FORMATS)[number]

/** How a list is shown in each format. */
export interface ListView<T> {
  readonly columns: readonly Column<T>[]
  /** What `-o ids` prints for each. */
  readonly id: (item: T) => string
  /** What to say about an empty list, on stderr. */
  readonly none: string
}

/** Prints a list. */
export function printList<T>(
  terminal: Terminal,
  format: Format,
  items: readonly T[],
  view: ListView<T>,
): void {
  if (format === 'json') return terminal.print(toJson(items, 2))
  if (format === 'ids') return printIds(terminal, items.map(view.id))
  if (items.length === 0) return terminal.note(view.none)
  for (const line of tableLines(terminal, items, view.columns)) terminal.print(line)
}

/**
 * Prints a list that is read in pages: ids at once, and nothing else of their items is kept. A table needs
 * the widths of all rows, and JSON is one array.
 */
export async function printPages<T>(
  terminal: Terminal,
  format: Format,
  pages: AsyncIterable<readonly T[]>,
  view: ListView<T>,
): Promise<number> {
  const kept: T[] = []
  let count = 0
  for await (const page of pages) {
    count += page.length
    if (format === 'ids') printIds(terminal, page.map(view.id))
    else for (const item of page) kept.push(item)
  }
  if (format !== 'ids') printList(terminal, format, kept, view)
  return count
}

/** Prints one thing: its JSON, its id, or names with values. */
export function printRecord(
  terminal: Terminal,
  format: Format,
  item: unknown,
  id: string,
  record: readonly (readonly [name: string, value: string])[],
): void {
  if (format === 'json') return terminal.print(toJson(item, 2))
  if (format === 'ids') return printIds(terminal, [id])
  for (const line of recordLines(terminal, record)) terminal.print(line)
}

/** Prints ids, one a line: as they are for programs, and harmless on a terminal. */
export function printIds(terminal: Terminal, ids: readonly string[]): void {
  for (const id of ids) terminal.print(terminal.isInteractive ? safeText(id) : id)
}
