/** A statement with `?` for each value, and the values in that order. */
export interface Positional {
  readonly text: string
  readonly values: readonly unknown[]
}

// Texts, names and comments are matched first, so that nothing in them counts.
const PARTS =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\$(\d+)/g

/** Turns `$1`, `$2`, …, as PostgreSQL has them, into `?`. A statement without them is returned as it is. */
export function positional(text: string, values: readonly unknown[]): Positional {
  if (!text.includes('$')) return { text, values }
  const used: unknown[] = []
  const replaced = text.replace(PARTS, (part: string, number: string | undefined) => {
    if (number === undefined) return part
    const index = Number(number) - 1
    if (index < 0 || index >= values.length) {
      throw new RangeError(`there is no value for ${part}: got ${values.length}`)
    }
    used.push(values[index])
    return '?'
  })
  return replaced === text ? { text, values } : { text: replaced, values: used }
}
