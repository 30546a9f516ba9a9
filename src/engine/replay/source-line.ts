/**
 * The first line of a stack that is not the engine's own, and if possible not of another package;
 * empty when there is none.
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
