import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ALLOWED, type Exception } from './allowed-words.ts'
import { OLD_WORDS } from './old-words.ts'

const ROOT = join(import.meta.dirname, '../..')
const PLACES = [
  'src',
  'test',
  'bench',
  'docs',
  'examples',
  'scripts',
  'README.md',
  'CONTRIBUTING.md',
]

/** One place where an old word is used. */
interface Finding {
  readonly path: string
  readonly line: number
  readonly word: string
  readonly now: string
}

describe('old words', () => {
  const findings = sources().flatMap((path) => find(path, readFileSync(join(ROOT, path), 'utf8')))

  test('no identifier, string, comment or page has one, apart from the listed exceptions', () => {
    const found = findings.filter((finding) => !ALLOWED.some((one) => covers(one, finding)))

    expect(found.map((one) => `${one.path}:${one.line} "${one.word}": ${one.now}`)).toEqual([])
  })

  test('each exception is still needed', () => {
    const needless = ALLOWED.filter((one) => !findings.some((finding) => covers(one, finding)))

    expect(needless).toEqual([])
  })
})

describe('the search', () => {
  test('finds an old word in a path, in code and in a sentence', () => {
    const found = find(
      'src/engine/runtime/lookout.ts',
      'const MOST_ITEMS = 1\n// It is set aside.\n',
    )

    expect(found.map(({ word, line }) => `${word} ${line}`)).toEqual([
      'set aside 2',
      'lookout 0',
      'MOST_ITEMS 1',
    ])
  })

  test('leaves words alone that only look like one', () => {
    expect(find('src/base/x.ts', 'describe; Describe; a subscribe; years; outgoing mail')).toEqual(
      [],
    )
  })
})

/** Text files of the repository that have no history to keep. */
function sources(): string[] {
  return execFileSync('git', ['ls-files', ...PLACES], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => /\.(?:ts|mts|mjs|sql|md)$/.test(path) && !/\.generated\./.test(path))
}

/** A word of the path itself is found on line 0. */
function find(path: string, text: string): Finding[] {
  const lines = [path, ...text.split('\n')]
  return OLD_WORDS.filter(({ within }) => within?.test(path) ?? true).flatMap(({ old, now }) =>
    lines.flatMap((content, line) =>
      [...content.matchAll(old)].map((match) => ({ path, line, word: match[0], now })),
    ),
  )
}

function covers(exception: Exception, { path, word }: Finding): boolean {
  return exception.path.test(path) && (exception.word?.test(word) ?? true)
}
