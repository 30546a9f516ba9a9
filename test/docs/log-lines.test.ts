// The page of log lines against the code: each line that src writes has a row with its level, and each
// row is a line that src writes. The command line and the testing kit are left out.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/reference/logs.md'

/** A message at a level; `…` stands for what differs from line to line. */
interface Line {
  readonly level: string
  readonly message: string
  readonly place: string
}

/** Calls that pass on the message of their caller, which is found where it is written. */
const PASSED_ON = new Set([
  'src/base/log.ts: message',
  'src/engine/context/make-context.ts: message', // of workflow code
  'src/engine/core/limits.ts: message',
  'src/index.ts: message',
  'src/queue/queue-core.ts: message',
])

/** A call of a log, or of a function that logs a warning with its last argument. */
const CALL =
  /\.(debug|info|warn|error)\(|\blog\[([^\]]+)\]\(|(?:#complain|(?<![\w.#])warn|\bonOther)\(/g

const calls = sources().flatMap((path) => callsIn(path, readFileSync(join(ROOT, path), 'utf8')))
const written = calls.flatMap(({ levels, argument, place, source }) =>
  levels.flatMap((level) =>
    messagesIn(argument, source).map((message): Line => ({ level, message, place })),
  ),
)
const rows = rowsOf(readFileSync(join(ROOT, PAGE), 'utf8'))

describe('the page of log lines', () => {
  test('is compared with calls whose messages can be read', () => {
    const unread = calls
      .filter(({ argument, source }) => messagesIn(argument, source).length === 0)
      .map(({ place, argument }) => `${place}: ${argument}`)

    expect(new Set(unread)).toEqual(PASSED_ON)
  })

  test('has a row for each line that the code writes, with its level', () => {
    const missing = written.filter((line) => !rows.some((row) => isSame(row, line)))

    expect(missing).toEqual([])
  })

  test('has no row of a line that the code does not write', () => {
    const outdated = rows.filter((row) => !written.some((line) => isSame(row, line)))

    expect(outdated).toEqual([])
  })
})

describe('a comparison', () => {
  const source = `
    log.warn({ id }, 'it failed; retrying')
    this.#log.info(keys, isNew ? 'it began' : \`it began \${n} times\`)
    const words = 'it broke, ' + 'again'
    log.error({}, words)
    values.error(text)
  `

  test('finds the levels and messages of calls', () => {
    const found = callsIn('a.ts', source).flatMap(({ levels, argument }) =>
      messagesIn(argument, source).map((message) => [...levels, message]),
    )

    expect(found).toEqual([
      ['warn', 'it failed; retrying'],
      ['info', 'it began'],
      ['info', 'it began … times'],
      ['error', 'it broke, again'],
    ])
  })

  test('does not take a row for a line of another level or with other words', () => {
    const line = { level: 'warn', message: 'it failed; retrying', place: 'a.ts' }

    expect(isSame({ ...line, message: 'it failed; …' }, line)).toBe(true)
    expect(isSame({ ...line, level: 'error' }, line)).toBe(false)
    expect(isSame({ ...line, message: 'it failed' }, line)).toBe(false)
  })
})

function sources(): string[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .map((path) => join('src', path))
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\.generated\.ts$/.test(path))
    .filter((path) => !/^src\/(cli|testing)\//.test(path))
    .toSorted()
}

interface Call {
  readonly levels: readonly string[]
  /** The expression of the message: the last argument. */
  readonly argument: string
  readonly place: string
  readonly source: string
}

function callsIn(path: string, source: string): Call[] {
  return [...source.matchAll(CALL)].flatMap((match) => {
    const [text, level, computed] = match
    const all = argumentsFrom(source, match.index + text.length)
    const argument = all.at(-1)?.trim() ?? ''
    // One argument is no message, and a parameter with its type is a definition.
    if (all.length < 2 || /^\w+\??:/.test(argument)) return []
    const levels = level !== undefined ? [level] : levelsIn(computed)
    return { levels, argument, place: path, source }
  })
}

/** Levels that stand in the brackets; any of them where a variable has it. */
function levelsIn(computed: string | undefined): string[] {
  if (computed === undefined) return ['warn']
  const named = [...computed.matchAll(/'(\w+)'/g)].map(([, level]) => level!)
  return named.length > 0 ? named : ['*']
}

/** The arguments of a call whose parenthesis opens before this index. */
function argumentsFrom(source: string, start: number): string[] {
  const all = ['']
  let depth = 0
  for (let at = start; at < source.length; at++) {
    const end = endOfString(source, at)
    const part = source.slice(at, end)
    if (part === ')' && depth === 0) break
    if ('([{'.includes(part)) depth++
    if (')]}'.includes(part)) depth--
    if (part === ',' && depth === 0) all.push('')
    else all[all.length - 1] += part
    at = end - 1
  }
  return all.filter((argument) => argument.trim() !== '')
}

/** Where the string that begins at this index ends; the next index if none begins there. */
function endOfString(source: string, at: number): number {
  const quote = source[at]!
  if (!`'"\``.includes(quote)) return at + 1
  let end = at + 1
  while (end < source.length && source[end] !== quote) end += source[end] === '\\' ? 2 : 1
  return end + 1
}

/** The texts that an expression may be: several for a condition, none if they are not in the source. */
function messagesIn(expression: string, source: string): string[] {
  const joined = expression.replaceAll(/' \+\s+'/g, '')
  const literals = joined.match(/'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? []
  if (literals.length === 0 && /^\w+$/.test(expression)) {
    const value = new RegExp(`const ${expression} =\\s*((?:[\\s+]*'[^']*')+)`).exec(source)?.[1]
    return value === undefined ? [] : messagesIn(value, '')
  }
  return literals
    .map((literal) => literal.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, '…'))
    .filter((message) => message.includes(' '))
}

/** The rows of tables that have a level and messages in their first two columns. */
function rowsOf(markdown: string): Line[] {
  return markdown.split('\n').flatMap((line, index) => {
    const [, level, cell] = /^\| `(debug|info|warn|error)` *\| ([^|]*)\|/.exec(line) ?? []
    if (level === undefined) return []
    return [...cell!.matchAll(/`([^`]+)`/g)].map(([, message]) => {
      return { level, message: message!, place: `${PAGE}:${index + 1}` }
    })
  })
}

function isSame(row: Line, line: Line): boolean {
  const isLevel = line.level === '*' || line.level === row.level
  return isLevel && (fits(row.message, line.message) || fits(line.message, row.message))
}

/** Whether a message is of this form, in which `…` is anything. */
function fits(form: string, message: string): boolean {
  const parts = form.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('.+')}$`, 's').test(message)
}
