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
