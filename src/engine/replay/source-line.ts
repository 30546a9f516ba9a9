/** The first line of a stack that is not the engine's own; empty when there is none. */
export function sourceLine(stack: string): string {
  const own = /[\\/](engine[\\/](replay|context|runtime))[\\/]|\(?node:/
  const line = stack
    .split('\n')
    .slice(1)
    .find((frame) => !own.test(frame))
  return line === undefined ? '' : line.trim()
}
