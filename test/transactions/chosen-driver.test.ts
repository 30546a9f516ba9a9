import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// The built package beside a better-sqlite3 that this line of Node can load: the setup of users
// that choose it over node:sqlite.

const ROOT = join(import.meta.dirname, '../..')
const installed = process.env['HOLDFAST_TEST_BETTER_SQLITE3']

const PROGRAM = `
import Database from 'better-sqlite3'
import { DatabaseSync } from 'node:sqlite'
import { open, workflow } from 'holdfast'
import { openDatabase, sqlite } from 'holdfast/sqlite'

const options = { path: 'shop.db', driver: 'better-sqlite3' }
const hello = workflow('hello', async (name) => 'hello ' + name)
const holdfast = await open(sqlite(options), { register: hello })
const foreign = new DatabaseSync('shop.db')
for (const handle of [new Database('shop.db'), openDatabase(options), foreign]) {
  handle.exec('pragma synchronous = full; begin immediate')
  try {
    const { id } = await holdfast.in(handle).start(hello, 'Kim')
    handle.exec('commit')
    console.log(handle.constructor.name, await holdfast.get(hello, id).result())
  } catch (error) {
    handle.exec('rollback')
    console.log(handle.constructor.name, error.message)
  }
}
await holdfast.close()
`

test.runIf(installed !== undefined)(
  'a store that uses better-sqlite3 takes handles of that, and refuses those of node:sqlite',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-chosen-'))
    const own = join(folder, 'node_modules/holdfast')
    mkdirSync(own, { recursive: true })
    for (const part of ['dist', 'package.json']) {
      cpSync(join(ROOT, part), join(own, part), { recursive: true })
    }
    symlinkSync(installed!, join(folder, 'node_modules/better-sqlite3'))
    symlinkSync(join(ROOT, 'node_modules/croner'), join(folder, 'node_modules/croner'))
    writeFileSync(join(folder, 'main.mjs'), PROGRAM)

    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', 'main.mjs'],
      { cwd: folder, encoding: 'utf8', timeout: 15_000 },
    )

    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    expect(stdout.trim().split('\n')).toEqual([
      'Database hello Kim',
      'Database hello Kim',
      expect.stringMatching(
        /^DatabaseSync in: the handle uses a different SQLite library than the store, which uses better-sqlite3 in /,
      ),
    ])
    rmSync(folder, { recursive: true })
  },
)
