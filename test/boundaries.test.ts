import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cycles, folderCycles, importsOf, readSources, strays, type Walls } from './import-graph.ts'

const ROOT = join(import.meta.dirname, '..')

const MANIFEST: { exports: Record<string, unknown> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

const BELOW_RUNTIME = [
  'base',
  'store',
  'watchdog',
  'workers',
  ...rooms('define', 'replay', 'core', 'instance', 'context'),
]

function rooms(...names: readonly string[]): string[] {
  return names.map((name) => `engine/${name}`)
}

/** Which folder may import which. Features and adapters meet only in `store` and `watchdog`. */
const WALLS: Walls = {
  folders: {
    base: [],
    store: ['base'],
    watchdog: ['base', 'store'],
    workers: ['base'],
    engine: ['base', 'store', 'watchdog', 'workers'],
    // The rooms of the engine, from the ground up. A room sees only rooms above it in this list, and
    // client and runtime do not see each other.
    'engine/define': ['base', 'store', 'workers'],
    'engine/replay': ['base', 'store'],
    'engine/core': ['base', 'store', 'engine/define', 'engine/replay'],
    'engine/instance': ['base', 'store', 'watchdog', ...rooms('define', 'replay', 'core')],
    'engine/context': ['base', 'store', ...rooms('define', 'replay', 'core', 'instance')],
    'engine/client': ['base', 'store', 'workers', ...rooms('define', 'core')],
    'engine/runtime/core': ['base', 'store', ...rooms('define', 'core')],
    'engine/runtime/schedule': [...BELOW_RUNTIME, ...rooms('runtime/core')],
    'engine/runtime/discover': [...BELOW_RUNTIME, ...rooms('runtime/core', 'runtime/schedule')],
    'engine/runtime/activities': [
      ...BELOW_RUNTIME,
      ...rooms('runtime/core', 'runtime/schedule', 'runtime/discover'),
    ],
    'engine/runtime': BELOW_RUNTIME,
    outbox: ['base', 'store', 'watchdog', 'workers'],
    queue: ['base', 'store', 'workers'],
    postgres: ['base', 'store', 'watchdog', 'workers'],
    'postgres/connect': ['base', 'store'],
    'postgres/wire': ['store', 'postgres/connect'],
    'postgres/schema': ['base', 'store', 'postgres/connect'],
    'postgres/transactions': ['base', 'store', 'postgres/connect', 'postgres/wire'],
    'postgres/notifier': ['base', 'store', 'workers', 'postgres/connect', 'postgres/wire'],
    sqlite: ['base', 'store', 'watchdog', 'workers'],
    telemetry: ['base'],
    testing: [
      'base',
      'store',
      'watchdog',
      'workers',
      'engine',
      'outbox',
      'queue',
      'postgres',
      'sqlite',
    ],
    eslint: ['base'],
    cli: ['base', 'store'],
    dashboard: ['base', 'store'],
  },
  packages: {
    'engine/core': ['croner'],
    postgres: ['pg'],
    sqlite: ['better-sqlite3'],
    testing: ['vitest'],
  },
  pure: ['engine/replay'],
  apps: ['cli', 'dashboard'],
  entries: Object.keys(MANIFEST.exports)
    .filter((subpath) => subpath !== './package.json')
    .map((subpath) => `src/${subpath.slice(2)}/index.ts`.replace('//', '/')),
}

describe('the package', () => {
  const sources = readSources(ROOT)

  test('every file imports only what its folder may', () => {
    expect(strays(sources, WALLS)).toEqual([])
  })

  test('no import cycle between files', () => {
    expect(cycles(sources)).toEqual([])
  })

  test('no import cycle between folders, even by types', () => {
    expect(folderCycles(sources)).toEqual([])
  })

  test('each entry names all that it exports', () => {
    const unnamed = WALLS.entries.filter((entry) => /^export \*/m.test(sources.get(entry)!))

    expect(unnamed).toEqual([])
  })
})

describe('the check of imports', () => {
  const RUNTIME = 'src/engine/runtime'
  const walls: Walls = {
    ...WALLS,
    entries: ['src/index.ts', 'src/postgres/index.ts', 'src/dashboard/index.ts'],
  }

  test.each([
    ['ground that looks up', 'src/base/time/clock.ts', '../../store/history.ts'],
    ['a feature that sees an adapter', 'src/engine/client/start.ts', '../../postgres/pool.ts'],
    ['an adapter that sees a feature', 'src/sqlite/store.ts', '../engine/client/start.ts'],
    ['a feature that sees another', 'src/outbox/enqueue.ts', '../queue/send.ts'],
    [
      'replay that sees the rest of the engine',
      'src/engine/replay/current-turn.ts',
      '../client/start.ts',
    ],
    ['a client that sees the runtime', 'src/engine/client/start.ts', '../runtime/runtime.ts'],
    ['a runtime that sees the client', 'src/engine/runtime/runtime.ts', '../client/start.ts'],
    ['an instance that sees its runtime', 'src/engine/instance/turn.ts', '../runtime/runtime.ts'],
    ['a scheduler that sees the activities', `${RUNTIME}/schedule/a.ts`, '../activities/b.ts'],
    ['definitions that see their users', 'src/engine/define/registry.ts', '../core/values.ts'],
    ['replay that sees a builtin', 'src/engine/replay/current-turn.ts', 'node:crypto'],
    ['a package outside its folder', 'src/engine/client/start.ts', 'pg'],
    ['an entry imported inside the package', 'src/testing/runtime.ts', '../postgres/index.ts'],
    ['an entry imported by the name of the package', 'src/testing/runtime.ts', 'holdfast/postgres'],
    ['an index inside a folder', 'src/engine/client/start.ts', '../runtime/index.ts'],
    ['testing that sees an app', 'src/testing/runtime.ts', '../dashboard/server.ts'],
    ['an entry that joins an app', 'src/index.ts', './cli/main.ts'],
    ['an app that sees the inside of a feature', 'src/cli/main.ts', '../engine/client/start.ts'],
    ['an app that sees the inside of another', 'src/cli/main.ts', '../dashboard/dashboard.ts'],
    ['shipped code that sees the tests', 'src/base/time/clock.ts', '../../../test/import-graph.ts'],
  ])('it finds %s', (_, file, name) => {
    const found = strays(new Map([[file, `import type { X } from '${name}'\n`]]), walls)

    expect(found).toEqual([expect.stringMatching(`^${file} -> `)])
  })

  test.each(['src/utils/list.ts', 'src/list.ts'])('it finds %s, which no row covers', (file) => {
    expect(strays(new Map([[file, '']]), walls)).toEqual([`${file} is in no folder of the table`])
  })

  test.each([
    ['the main entry joins features and adapters', 'src/index.ts', './sqlite/store.ts'],
    ['an entry joins features and adapters', 'src/postgres/index.ts', '../engine/client/start.ts'],
    [
      'the engine sees its replay',
      'src/engine/runtime/schedule/turns.ts',
      '../../replay/current-turn.ts',
    ],
    ['an adapter sees its driver', 'src/postgres/pool.ts', 'pg'],
    ['a test sees the testing folder', 'src/sqlite/store.test.ts', '../testing/clock.ts'],
    ['a test sees another room', 'src/engine/core/values.test.ts', '../context/frame.ts'],
    ['a test sees its tools', 'src/engine/replay/current-turn.test.ts', 'fast-check'],
    ['an app sees the main entry', 'src/cli/main.ts', '../index.ts'],
    ['an app sees the entry of another', 'src/cli/main.ts', '../dashboard/index.ts'],
    ['an app sees an entry', 'src/cli/commands/migrate.ts', '../../postgres/index.ts'],
  ])('it lets pass: %s', (_, file, name) => {
    expect(strays(new Map([[file, `import { x } from '${name}'\n`]]), walls)).toEqual([])
  })
})

describe('the check for cycles between folders', () => {
  test('it finds folders that import each other, even by types, and says where', () => {
    const sources = new Map([
      ['src/engine/core/a.ts', `import type { B } from '../client/b.ts'\n`],
      ['src/engine/client/b.ts', `import { c } from '../define/c.ts'\n`],
      ['src/engine/define/c.ts', `export type { A } from '../core/a.ts'\n`],
      ['src/engine/runtime/d.ts', `import { a } from '../core/a.ts'\n`],
    ])

    expect(folderCycles(sources)).toEqual([
      {
        folders: ['src/engine/client', 'src/engine/core', 'src/engine/define'],
        imports: [
          'src/engine/client/b.ts -> src/engine/define/c.ts',
          'src/engine/core/a.ts -> src/engine/client/b.ts',
          'src/engine/define/c.ts -> src/engine/core/a.ts',
        ],
      },
    ])
  })

  test('it finds a folder and the one around it', () => {
    const sources = new Map([
      ['src/postgres/store.ts', `import { listen } from './notifier/listen.ts'\n`],
      ['src/postgres/notifier/listen.ts', `import type { Store } from '../store.ts'\n`],
    ])

    expect(folderCycles(sources)).toMatchObject([
      { folders: ['src/postgres', 'src/postgres/notifier'] },
    ])
  })

  test('it lets pass what only a test imports', () => {
    const sources = new Map([
      ['src/base/a.test.ts', `import { b } from '../store/b.ts'\n`],
      ['src/base/a.ts', ''],
      ['src/store/b.ts', `import { a } from '../base/a.ts'\n`],
    ])

    expect(folderCycles(sources)).toEqual([])
  })
})

describe('the check for cycles between files', () => {
  test('it finds files that import each other by value, through any number of others', () => {
    const sources = new Map([
      ['src/base/a.ts', `import { b } from './b.ts'\n`],
      ['src/base/b.ts', `export { c } from './c.ts'\n`],
      ['src/base/c.ts', `const a = await import('./a.ts')\nimport './d.ts'\n`],
      ['src/base/d.ts', `import { d } from './d.ts'\n`],
      ['src/base/e.ts', `import { a } from './a.ts'\n`],
    ])

    expect(cycles(sources)).toEqual([
      ['src/base/d.ts'],
      ['src/base/a.ts', 'src/base/b.ts', 'src/base/c.ts'],
    ])
  })

  test('it lets pass a circle that is open at run time', () => {
    const sources = new Map([
      ['src/base/a.ts', `import { b } from './b.ts'\n`],
      ['src/base/b.ts', `import type { A } from './a.ts'\nexport type * from './a.ts'\n`],
    ])

    expect(cycles(sources)).toEqual([])
  })

  test('it counts an import of nothing but inline types, which stays at run time', () => {
    const sources = new Map([
      ['src/base/a.ts', `import { b } from './b.ts'\n`],
      ['src/base/b.ts', `import { type A } from './a.ts'\n`],
    ])

    expect(cycles(sources)).toEqual([['src/base/a.ts', 'src/base/b.ts']])
  })
})

test('every form of import is found, and none in comments and strings', () => {
  const text = `
import 'node:a'
import b, { type B, b2 } from './b.ts'
import {
  c,
  type C,
} from '../c.ts'
import * as d from 'holdfast'
import type { E } from 'holdfast/e'
export { f } from './f.ts'
export * from './g.ts'
export type { H } from './h.ts'
/** For example:
import { no } from './no.ts'
*/
// import { no } from './no.ts'
const url = 'https://no' // and import('./no.ts')
export const from = 'no'
export interface I {
  from: 'no'
}
const j = () => import('./j.ts')
`

  const found = importsOf('src/x/y/z.ts', text).map(({ target, typeOnly }) =>
    typeOnly ? `type ${target}` : target,
  )

  expect(found).toEqual([
    'node:a',
    'src/x/y/b.ts',
    'src/x/c.ts',
    'src/index.ts',
    'type src/e/index.ts',
    'src/x/y/f.ts',
    'src/x/y/g.ts',
    'type src/x/y/h.ts',
    'src/x/y/j.ts',
  ])
})
