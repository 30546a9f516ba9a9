import { safeText } from './safe-text.ts'
import type { Style, Terminal } from './terminal.ts'
import { fit, pad, textWidth } from './text-width.ts'

/** A column of a table. */
export interface Column<T> {
  readonly title: string
  readonly value: (item: T) => string
  readonly style?: (item: T) => Style | undefined
  /** Whether it shrinks first when the terminal is narrow. */
  readonly shrinks?: boolean
}

const GAP = '  '
const MIN_COLUMNS = 8

/** Lines of a table, as wide as the terminal at most. Whatever the values contain, a row is one line. */
export function tableLines<T>(
  terminal: Terminal,
  items: readonly T[],
  columns: readonly Column<T>[],
): string[] {
  const cells = items.map((item) => columns.map(({ value }) => safeText(value(item))))
  // Columns without values are left out.
  const filled = columns.map((_, i) => i).filter((i) => cells.some((row) => row[i] !== ''))
  const natural = filled.map((i): [number, number] => [
    i,
    widest(
      textWidth(columns[i]!.title),
      cells.map((row) => row[i]!),
    ),
  ])
  const widths = fitting(columns, natural, terminal.columns)
  const shown = [...widths.keys()]
  const last = shown.at(-1)
  const line = (
    texts: readonly string[],
    styled: (text: string, column: Column<T>) => string,
  ): string =>
    shown
      .map((i) => {
        const text = fit(texts[i]!, widths.get(i)!)
        return styled(i === last ? text : pad(text, widths.get(i)!), columns[i]!)
      })
      .join(GAP)
      .trimEnd()
  const titles = columns.map(({ title }) => title)
  return [
    line(titles, (text) => terminal.style('bold', text)),
    ...cells.map((row, n) =>
      line(row, (text, column) => {
        const style = column.style?.(items[n]!)
        return style === undefined ? text : terminal.style(style, text)
      }),
    ),
  ]
}

/** The width of the widest of these texts. `Math.max` takes no more values than fit on the stack. */
function widest(least: number, texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, textWidth(text)), least)
}

/** Widths of the columns that fit: they shrink first, and then those on the right are left out. */
function fitting<T>(
  columns: readonly Column<T>[],
  natural: readonly (readonly [number, number])[],
  available: number,
): ReadonlyMap<number, number> {
  const widths = new Map(natural)
  const excess = (): number =>
    [...widths.values()].reduce((sum, width) => sum + width + GAP.length, -GAP.length) - available
  const order = [...widths.keys()].toSorted(
    (a, b) => Number(columns[b]!.shrinks ?? false) - Number(columns[a]!.shrinks ?? false),
  )
  for (const i of order) {
    if (excess() <= 0) return widths
    widths.set(i, Math.max(Math.min(MIN_COLUMNS, widths.get(i)!), widths.get(i)! - excess()))
  }
  if (excess() <= 0) return widths
  if (natural.length > 1) return fitting(columns, natural.slice(0, -1), available)
  return new Map(natural.map(([i]) => [i, available]))
}

/** Lines of names with values, for one thing. Values without text are left out. */
export function recordLines(
  terminal: Terminal,
  record: readonly (readonly [name: string, value: string])[],
): string[] {
  const given = record.filter(([, value]) => value !== '')
  const width = widest(
    0,
    given.map(([name]) => name),
  )
  return given.map(([name, value]) => {
    const [first, ...more] = value.split('\n').map(safeText)
    const indent = ' '.repeat(width + GAP.length)
    return [
      `${terminal.style('bold', pad(name, width))}${GAP}${first}`,
      ...more.map((rest) => indent + rest),
    ].join('\n')
  })
}
