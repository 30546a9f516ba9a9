/**
 * The first line of a stack that is outside the engine and, if possible, outside other packages; empty
 * when there is none.
 */
export function sourceLine(stack: string): string {
  const own = /[\\/](engine[\\/](replay|context|runtime))[\\/]|\(?node:/
  const lines = stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .filter((line) => !own.test(line))
  const line = lines.find((one) => !/[\\/]node_modules[\\/]/.test(one)) ?? lines[0]
  return line === undefined ? '' : line.trim()
}
