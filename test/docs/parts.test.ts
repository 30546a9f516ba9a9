// Tables of the pages about the inside name parts of the code in their first column.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = ['docs/internals/architecture.md', 'docs/internals/notifier.md']

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'))
  .join('\n')

test.each(PAGES)('%s names only parts that the code defines', (page) => {
  const parts = partsOf(readFileSync(join(ROOT, page), 'utf8'))

  expect(parts.filter((name) => !isDefined(name))).toEqual([])
})

test('the tables of the architecture have parts', () => {
  const text = readFileSync(join(ROOT, PAGES[0]!), 'utf8')

  expect(partsOf(text)).toEqual(expect.arrayContaining(['TurnLoop', 'CommitWriter', 'callBatch']))
  expect(isDefined('TurnLoops')).toBe(false)
})

/** The names in first columns. Files, tables and states of other kinds are not written like names. */
function partsOf(text: string): string[] {
  return [...text.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, column]) =>
    [...column!.matchAll(/`([A-Za-z]+[A-Z][A-Za-z]+)`/g)].map(([, name]) => name!),
  )
}

function isDefined(name: string): boolean {
  return new RegExp(`\\b(?:class|function\\*?|interface|type|const) ${name}\\b`).test(sources)
}
