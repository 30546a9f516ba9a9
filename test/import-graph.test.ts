import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { drawImportGraph, PICTURE } from '../scripts/import-graph.ts'
import { layOut } from '../scripts/layered-layout.ts'
import { readSources } from './import-graph.ts'

const ROOT = join(import.meta.dirname, '..')

describe('the picture of the import graph', () => {
  test('is up to date (otherwise run `npm run graph`)', () => {
    expect(readFileSync(join(ROOT, PICTURE), 'utf8')).toBe(drawImportGraph(readSources(ROOT)))
  })

  test('does not depend on the order in which files are read', () => {
    const sources = readSources(ROOT)

    expect(drawImportGraph(new Map([...sources].toReversed()))).toBe(drawImportGraph(sources))
  })

  test('leaves out imports that a path of others implies', () => {
    const picture = drawImportGraph(
      new Map([
        ['src/index.ts', `import './engine/a.ts'\nimport './base/b.ts'\n`],
        ['src/engine/a.ts', `import type { B } from '../base/b.ts'\n`],
        ['src/base/b.ts', ''],
      ]),
    )

    expect(arrows(picture)).toEqual(['index.ts imports engine', 'engine imports base'])
  })

  test('shows folders that import each other', () => {
    const picture = drawImportGraph(
      new Map([
        ['src/store/a.ts', `import './inner/b.ts'\n`],
        ['src/store/inner/b.ts', `import type { A } from '../a.ts'\n`],
      ]),
    )

    expect(arrows(picture)).toEqual([
      'store imports store/inner, and the other way round',
      'store/inner imports store, and the other way round',
    ])
  })
})

test('a layout puts each node above those it points to, and none on top of another', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e']
  const edges = ['ab', 'ac', 'bd', 'cd', 'ae', 'de'].map(([from, to]) => ({ from: from!, to: to! }))

  const { places, paths, layers } = layOut(nodes, edges, () => 50)

  expect(layers).toBe(4)
  for (const { from, to } of edges) {
    expect(places.get(from)!.layer).toBeGreaterThan(places.get(to)!.layer)
  }
  expect(Math.abs(places.get('b')!.x - places.get('c')!.x)).toBeGreaterThanOrEqual(50)
  // The long edge passes both layers between its ends.
  expect(paths[4]!.map(({ layer }) => layer)).toEqual([3, 2, 1, 0])
})

function arrows(picture: string): string[] {
  return [...picture.matchAll(/<title>(.* imports .*)<\/title>/g)]
    .map(([, title]) => title!)
    .filter((title) => !title.startsWith('Which'))
}
