import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { connect, open, workflow } from '../../src/index.ts'
import { type DriverName, openDatabase, sqlite, transaction } from '../../src/sqlite/index.ts'
import { openStore, startItem, tempFile } from '../support/sqlite.ts'
import { foreignLibrary, HAS_FOREIGN } from './foreign-sqlite.ts'
import type { SqliteHandle } from './sqlite-handle.ts'

const greet = workflow('greet', async (name: string) => `hello ${name}`)
const note = transaction('note', (text: string, { tx }) =>
  tx.run('insert into notes values (?)', text),
)
const takeNote = workflow('take-note', async (text: string, ctx) => ctx.run(note, text))

// Temporary files of other processes come and go: this one has a folder of its own for them.
const temp = mkdtempSync(join(tmpdir(), 'two-libraries-'))
process.env['TMPDIR'] = temp
afterAll(() => rmSync(temp, { recursive: true, force: true }))

describe.runIf(HAS_FOREIGN)('a handle of a different SQLite library', () => {
  test('is refused before anything is written, with the library to use', async () => {
    await using scene = await openScene()
    const { client, path, foreign } = scene
    const handle = foreign.open(path)
    handle.exec('pragma synchronous = full; begin immediate')

    const refused = client.in(handle).start(greet, 'Kim', { id: 'a' })

    await expect(refused).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(
        /^in: the handle uses a different SQLite library than the store, which uses (node:sqlite|better-sqlite3 in .*)\. .*openDatabase\(\) of holdfast\/sqlite/,
      ),
    })
    handle.exec('rollback')
    expect(await client.get('a').info()).toBeUndefined()
    // It stays open: closing it would delete the WAL.
    scene.keep(handle)
  })

  test('is left as it was, in its transaction', async () => {
    await using scene = await openScene()
    const { client, path, foreign } = scene
    const handle = foreign.open(path)
    handle.exec('pragma synchronous = full; pragma busy_timeout = 4321; begin')
    const before = stateOf(handle)

    await expect(client.in(handle).start(greet, 'Kim')).rejects.toThrow('different SQLite library')

    expect(stateOf(handle)).toEqual(before)
    expect(() => handle.exec('begin')).toThrow('within a transaction')
    handle.exec('rollback')
    scene.keep(handle)
  })

  test('that is closed takes the WAL with it: the store acknowledges nothing more, and says why', async () => {
    await using scene = await openScene()
    await using opened = await openStore(scene.path)
    await opened.commit([startItem(opened.first)])
    const handle = scene.foreign.open(scene.path)
    handle.prepare('select count(*) from instances').all()
    handle.close()

    const lost = {
      code: 'unavailable',
      message: expect.stringMatching(/the WAL of .* was deleted while it was in use/),
    }
    await expect(opened.commit([startItem(opened.first + 1)])).rejects.toMatchObject(lost)
    await expect(opened.store.find(['order-1'])).rejects.toMatchObject(lost)
  })
})

describe("a handle of the store's own library", () => {
  test('passes, is left as it was, and leaves no file behind', async () => {
    await using scene = await openScene()
    const { client, path } = scene
    using handle = disposable(openDatabase({ path }))
    handle.exec('pragma busy_timeout = 4321; begin immediate')
    const before = stateOf(handle)
    const filesBefore = lockFolders()

    const begunMs = performance.now()
    await client.in(handle).start(greet, 'Kim', { id: 'a' })

    // It does not wait for the lock.
    expect(performance.now() - begunMs).toBeLessThan(4_000)
    expect(stateOf(handle)).toEqual(before)
    expect(lockFolders()).toEqual(filesBefore)
    handle.exec('commit')
    expect(await client.get('a').info()).toMatchObject({ workflow: 'greet' })
  })

  test('keeps its lock while it is checked: other processes still wait for it', async () => {
    await using scene = await openScene()
    const { client, path } = scene
    using handle = disposable(openDatabase({ path }))
    handle.exec('begin immediate')
    expect(begunElsewhere(path)).toBe('locked')

    await client.in(handle).start(greet, 'Kim', { id: 'a' })

    expect(begunElsewhere(path)).toBe('locked')
    handle.exec('commit')
    expect(begunElsewhere(path)).toBe('begun')
  })

  test('holds up the store while it writes, so that no acknowledged start is lost', async () => {
    await using scene = await openScene()
    const { client, path } = scene
    using handle = disposable(openDatabase({ path }))
    handle.exec('create table rows (x integer)')

    const ids: string[] = []
    for (let round = 0; round < 5; round++) {
      handle.exec('begin immediate')
      handle.exec(`insert into rows values (${round})`)
      await client.in(handle).start(greet, 'Kim', { id: `in-${round}` })
      const other = client.start(greet, 'Kim', { id: `beside-${round}` })
      handle.exec('commit')
      await other
      ids.push(`in-${round}`, `beside-${round}`)
    }

    const found = await Promise.all(ids.map((id) => client.get(id).info()))
    expect(found.map((info) => info?.id)).toEqual(ids)
    expect(handle.prepare('select count(*) as n from rows').all()).toMatchObject([{ n: 5 }])
  })

  test('can be opened before the store, with tables of its own', async () => {
    using file = tempFile()
    using handle = disposable(openDatabase({ path: file.path, durability: 'os' }))
    handle.exec('create table notes (text text)')

    await using runtime = await open(sqlite({ path: file.path, durability: 'os' }), {
      register: takeNote,
    })
    await runtime.run(takeNote, 'milk', { id: 'a' })

    expect(handle.prepare('select text from notes').all()).toMatchObject([{ text: 'milk' }])
  })

  test('waits for the disk as the store does', () => {
    using file = tempFile()
    const synchronous = (durability?: 'os' | 'fsync') => {
      using handle = disposable(
        openDatabase({ path: file.path, ...(durability && { durability }) }),
      )
      return Object.values(handle.prepare('pragma synchronous').all()[0] as object)[0]
    }

    expect(synchronous()).toBe(2)
    expect(synchronous('fsync')).toBe(2)
    expect(synchronous('os')).toBe(1)
  })

  test.each([
    [
      { path: ':memory:' },
      'openDatabase: a database in memory can be used by its own connection only',
    ],
    [{ path: join(tmpdir(), 'no-such-folder', 'a.db') }, 'no-such-folder'],
  ])('is not to be had for %j', (options, message) => {
    expect(() => openDatabase(options)).toThrow(message)
  })
})

describe('two drivers for one file in one process', () => {
  const [own, other]: DriverName[] =
    process.getBuiltinModule('node:sqlite') === undefined
      ? ['better-sqlite3', 'node:sqlite']
      : ['node:sqlite', 'better-sqlite3']

  test('are refused, however the second one comes and whatever the path is called', async () => {
    await using scene = await openScene()
    const { path } = scene
    const link = `${path}.link`
    symlinkSync(path, link)
    const refused = {
      code: 'misconfigured',
      message: expect.stringContaining('Pass the same driver to every sqlite() and openDatabase()'),
    }

    for (const place of [path, link]) {
      expect(() => openDatabase({ path: place, driver: other! })).toThrow(
        expect.objectContaining(refused),
      )
      await using client = connect(sqlite({ path: place, driver: other! }))
      await expect(client.get('a').info()).rejects.toMatchObject(refused)
    }
    openDatabase({ path: link, driver: own! }).close()
  })
})

const CHILD = `
  const [path] = process.argv.slice(1)
  const builtin = process.getBuiltinModule('node:sqlite')
  const Database = builtin?.DatabaseSync ?? require('better-sqlite3')
  const handle = new Database(path, { timeout: 0 })
  try { handle.exec('begin immediate'); console.log('begun') } catch { console.log('locked') }
`

/** Whether another process can write. */
function begunElsewhere(path: string): string {
  const args = ['--disable-warning=ExperimentalWarning', '-e', CHILD, path]
  return spawnSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  }).stdout.trim()
}

function stateOf(handle: SqliteHandle): unknown[] {
  return [
    ...handle.prepare('pragma database_list').all(),
    ...handle.prepare('pragma busy_timeout').all(),
  ]
}

function lockFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('holdfast-lock-'))
}

function disposable<T extends { close(): unknown }>(handle: T): T & Disposable {
  return Object.assign(handle, { [Symbol.dispose]: () => void handle.close() })
}

async function openScene() {
  const file = tempFile()
  const library = mkdtempSync(join(tmpdir(), 'holdfast-foreign-'))
  const kept: SqliteHandle[] = []
  const client = connect(sqlite({ path: file.path }))
  await client.get('nobody').info()
  return {
    path: file.path,
    client,
    foreign: HAS_FOREIGN ? foreignLibrary(library) : undefined!,
    /** Closes it after the store. */
    keep: (handle: SqliteHandle) => void kept.push(handle),
    async [Symbol.asyncDispose]() {
      await client.close()
      for (const handle of kept) handle.close()
      file[Symbol.dispose]()
      rmSync(library, { recursive: true, force: true })
    },
  }
}
