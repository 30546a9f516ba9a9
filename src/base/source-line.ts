/**
 * The first line of a stack that is outside this package and, if possible, outside other packages; empty
 * when there is none.
 */
export function sourceLine(stack: string): string {
  const lines = linesOutside(stack)
  const line = lines.find((one) => !/[\\/]node_modules[\\/]/.test(one)) ?? lines[0]
  return line === undefined ? '' : line.trim()
}

/** The lines of a stack that are outside this package and Node. */
export function linesOutside(stack: string): readonly string[] {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !/\(?node:/.test(line) && !isOwnLine(line))
}

/** Whether a line of a stack is one of this package. */
export function isOwnLine(line: string): boolean {
  return OWN !== '' && line.includes(OWN)
}

/**
 * The folder of this package, given a stack of this file, which `scripts/bundle.mjs` puts into a chunk;
 * empty in a bundle of the user, which does not show what belongs to this package.
 *
 * A stack says it in the form that other stacks have, whatever loads the code. The name of a folder would
 * not do: an application may have a folder `engine` as well.
 */
export function packageFolder(stack: unknown): string {
  // A program may replace how stacks are written.
  if (typeof stack !== 'string') return ''
  const line = stack.split('\n').find((one) => /^\s+at /.test(one)) ?? ''
  const file =
    /^\s+at (?:[\w.<>]+ \()?(?:file:\/\/)?(.+)(?:base[\\/]source-line\.[jt]s|chunks[\\/]holdfast-own-\w+\.js)\b/
  return file.exec(line)?.[1] ?? ''
}

// Once, before a program changes how stacks are written.
const OWN = packageFolder(new Error('here').stack)
