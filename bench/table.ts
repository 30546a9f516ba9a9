// oxlint-disable no-console -- a benchmark is a program that prints

/** One line of a benchmark's table. */
export interface Row {
  readonly what: string
  readonly value: string
  /** What the value is meant to be, in words. */
  readonly target?: string
}

/** Prints rows under a title, in columns. */
export function printTable(title: string, rows: readonly Row[]): void {
  const whatWidth = Math.max(...rows.map((row) => row.what.length))
  const valueWidth = Math.max(...rows.map((row) => row.value.length))
  console.log(`\n${title}`)
  for (const { what, value, target } of rows) {
    const aim = target === undefined ? '' : `   (${target})`
    console.log(`  ${what.padEnd(whatWidth)}  ${value.padStart(valueWidth)}${aim}`)
  }
}

/** Prints lines of several columns under a title; the first line names the columns. */
export function printGrid(title: string, lines: readonly (readonly string[])[]): void {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  console.log(`\n${title}`)
  for (const line of lines) {
    const cells = line.map((cell, i) =>
      i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!),
    )
    console.log(`  ${cells.join('  ')}`)
  }
}
