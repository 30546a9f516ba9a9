import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

// Invariants that are cited elsewhere have a label (`P1. One method is one transaction …`), which is
// defined in one file. Races are defined in `docs/internals/races.md`.

const ROOT = join(import.meta.dirname, '../..')
const RACES = 'docs/internals/races.md'

interface Label {
  readonly path: string
  readonly label: string
}

describe('labels of invariants', () => {
  const texts = new Map(sources().map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
  const defined = [...texts].flatMap(([path, text]) => definitions(path, text))

  test('no two files define the same one', () => {
    expect(twice(defined)).toEqual([])
  })

  test('each one that a comment or a test title cites is defined', () => {
    const known = new Set(defined.map(({ label }) => label))
    const cited = [...texts].flatMap(([path, text]) => citations(path, text))

    expect(cited.filter(({ label }) => !known.has(label))).toEqual([])
  })

  test('each race has a scripted test, or names what keeps it out', () => {
    const page = texts.get(RACES)!
    const races = page.split(/^### /m).slice(1)

    expect(
      races.filter((race) => !/test\/races\/|\.\.\/adr\/|in one statement/.test(race)),
    ).toEqual([])
  })
})

describe('the search', () => {
  test('finds a definition and a citation', () => {
    const text = '//   P1. One method.\n//   P2. Two.\n/** See P2. */\ntest("[F3] it is", () => P7)'

    expect(definitions('a.ts', text).map(({ label }) => label)).toEqual(['P1', 'P2'])
    expect(citations('a.ts', text).map(({ label }) => label)).toEqual(['P1', 'P2', 'P2', 'F3'])
  })

  test('finds a label that two files define', () => {
    const found = ['a.ts', 'b.ts'].flatMap((path) => definitions(path, '// S1. It holds.'))

    expect(twice(found)).toEqual(['S1: a.ts, b.ts'])
  })
})

function sources(): string[] {
  return execFileSync('git', ['ls-files', 'src', 'test', RACES], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => /\.(?:ts|sql)$|^docs/.test(path))
    .filter((path) => !/\.generated\.|test\/docs\//.test(path))
}

function definitions(path: string, text: string): Label[] {
  const found = text.matchAll(/^(?:\s*(?:\/\/|\*|--)\s+|### )([A-Z]\d{1,2})\. /gm)
  return [...found].map((match) => ({ path, label: match[1]! }))
}

/** In comments, and in the titles of tests as `[F1]`. */
function citations(path: string, text: string): Label[] {
  const comments = text.split('\n').filter((line) => /^\s*(?:\/\/|\/?\*|--)/.test(line))
  const labels = [...comments.join('\n').matchAll(/\b[A-Z]\d\b(?!\.\d)/g)].map(([label]) => label)
  const titles = [...text.matchAll(/\[([A-Z]\d)\] /g)].map((match) => match[1]!)
  return [...labels, ...titles].map((label) => ({ path, label }))
}

function twice(labels: readonly Label[]): string[] {
  const paths = new Map<string, Set<string>>()
  for (const { label, path } of labels) paths.set(label, (paths.get(label) ?? new Set()).add(path))
  return [...paths]
    .filter(([, where]) => where.size > 1)
    .map(([label, where]) => `${label}: ${[...where].join(', ')}`)
}
