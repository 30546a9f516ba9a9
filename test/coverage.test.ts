import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { PROVIDER_TESTS } from './provider-tests.ts'

// `docs/reference/contract-coverage.md` counts the contract's tests; this holds it to its word.

const ROW = /^\| *([^|]+?) *\| *(\d+) *\| *(\d+) *\| *([^|]+?) *\|$/gm

test('the coverage table counts the tests that carry a contract name', () => {
  const page = readFileSync('docs/reference/contract-coverage.md', 'utf8')

  // Rows without a file break a number down; they are counted in another row.
  const rows = [...page.matchAll(ROW)].filter(([, , , , where]) => where!.includes('`'))
  const counted = rows.map(([, category, , here, where]) => ({
    category: category!.trim(),
    here: Number(here),
    found: namesIn([...where!.matchAll(/`([^`]+)`/g)].map(([, glob]) => glob!)),
  }))

  expect(counted.length).toBeGreaterThan(0)
  for (const { category, here, found } of counted) {
    expect({ category, tests: found.size }).toEqual({ category, tests: here })
  }
})

test('the table of the contract of a provider counts each category', () => {
  const page = readFileSync('docs/reference/contract-coverage.md', 'utf8')
  const [, table] = page.split('## The contract of a provider, by category')
  const rows = [...table!.split('\n## ')[0]!.matchAll(ROW_OF_CATEGORY)]

  const counted = rows.map(([, category, all, here]) => [category!, [Number(all), Number(here)]])

  // Some are shown with a runtime.
  const found = namesIn(['src/testing/contract/*.ts', 'test/engine/*.test.ts'])
  const expected = Object.entries(PROVIDER_TESTS).map(([category, names]) => [
    category,
    [names.length, names.filter((name) => found.has(name)).length],
  ])
  expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(expected))
})

const ROW_OF_CATEGORY = /^\| *([a-z][^|]+?) *\| *(\d+) *\| *(\d+) *\|/gm

/** The names in brackets at the end of test titles, one or several. */
function namesIn(globs: readonly string[]): Set<string> {
  const names = new Set<string>()
  for (const file of globs.flatMap(filesOf)) {
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/\[([a-z0-9_]+)\](?=['`]| \[)/g)) {
      names.add(name!)
    }
  }
  return names
}

/** Files of a path whose last part may hold stars. */
function filesOf(glob: string): string[] {
  const folder = dirname(glob)
  const parts = basename(glob).split('*')
  const pattern = new RegExp(`^${parts.map((part) => part.replaceAll('.', '\\.')).join('.*')}$`)
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .map((name) => join(folder, name))
}
