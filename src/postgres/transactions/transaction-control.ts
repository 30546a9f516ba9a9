const CONTROL =
  /^(?:begin|start transaction|commit|end|abort|prepare transaction|rollback(?! (?:(?:work|transaction) )?to\b))\b/i

/** Whether a statement begins or ends a transaction; savepoints do not. */
export function endsTransaction(text: string): boolean {
  return CONTROL.test(firstWords(text, 3))
}

const BLANKS = /(?:\s|--[^\n\r]*)+/y
const WORD = /[\w$]+/y

/** The first words of a statement, without what is between them. */
function firstWords(text: string, count: number): string {
  const words: string[] = []
  let at = 0
  while (words.length < count) {
    const before = at
    at = endOf(BLANKS, text, at) ?? endOfComment(text, at)
    // An empty statement.
    if (words.length === 0 && text[at] === ';') at++
    if (at > before) continue
    const end = endOf(WORD, text, at)
    if (end === undefined) break
    words.push(text.slice(at, end))
    at = end
  }
  return words.join(' ')
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** Where a comment that begins here ends: in PostgreSQL comments may contain comments. */
function endOfComment(text: string, at: number): number {
  if (!text.startsWith('/*', at)) return at
  let depth = 0
  for (let i = at; i < text.length; i++) {
    if (text.startsWith('/*', i)) {
      depth++
      i++
    } else if (text.startsWith('*/', i)) {
      depth--
      i++
      if (depth === 0) return i + 1
    }
  }
  return text.length
}
