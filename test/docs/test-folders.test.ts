// CONTRIBUTING.md has a map of `test/`, so that a new test finds its folder, and a new folder its row.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const HEADING = '## The map of `test/`'

test('the map of test/ in CONTRIBUTING.md has a row for each folder, and no other', () => {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const section = page.slice(page.indexOf(HEADING) + HEADING.length).split('\n## ')[0]!

  const rows = [...section.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, folder]) => folder!)

  const folders = readdirSync(join(ROOT, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  expect(rows).toEqual(folders.toSorted())
})
