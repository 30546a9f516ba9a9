import { copyFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { SqliteHandle } from './sqlite-handle.ts'

// An SQLite library other than the store's, in this process. Where the store uses better-sqlite3 (Node
// 20), that is a second copy of it; where it uses node:sqlite, a better-sqlite3 that was built for this
// line of Node, which `scripts/test-node-lines.mjs` installs and names.

type BetterSqlite = new (path: string, options: { nativeBinding?: string }) => SqliteHandle

const require = createRequire(import.meta.url)
const HAS_NODE_SQLITE = process.getBuiltinModule('node:sqlite') !== undefined
const installed = process.env['HOLDFAST_TEST_BETTER_SQLITE3']

/** Whether there is another library here. */
export const HAS_FOREIGN = !HAS_NODE_SQLITE || installed !== undefined

/** The path of the library's code, in a folder where a copy of it may be put. */
export interface Foreign {
  open(path: string): SqliteHandle
}

/** Another library; a copy of one is put into the folder. */
export function foreignLibrary(folder: string): Foreign {
  if (HAS_NODE_SQLITE) {
    const Installed = require(installed!) as BetterSqlite
    return { open: (path) => new Installed(path, {}) }
  }
  const Own = require('better-sqlite3') as BetterSqlite
  const copy = join(folder, 'copy.node')
  copyFileSync(require.resolve('better-sqlite3/build/Release/better_sqlite3.node'), copy)
  return { open: (path) => new Own(path, { nativeBinding: copy }) }
}
