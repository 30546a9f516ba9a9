import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open, workflow } from '../../src/index.ts'
import { outbox } from '../../src/outbox/index.ts'
import { openDatabase } from '../../src/sqlite/index.ts'
import { tempFile } from '../support/sqlite.ts'

const ROOT = join(import.meta.dirname, '../..')
const WRITE = /\b(insert into|update|delete from)\s+runs\b/i

describe('the pages know the tables', () => {
  test('the guide names all tables that a file of ours has', async () => {
    using file = tempFile()
    const { path } = file
    await using runtime = await open(`file:${path}`, { register: workflow('none', async () => {}) })
    await outbox(runtime).start()

    const database = openDatabase({ path })
    const rows = database.prepare(`select name from sqlite_master where type = 'table'`).all()
    const names = (rows as { name: string }[]).map(({ name }) => name)
    database.close()

    const [, listed = ''] = /Its own are called (.*?), and those of/.exec(
      read('guide/transactions'),
    )!
    const own = names.filter((name) => !/^(outbox|sqlite)_/.test(name))
    expect(quoted(listed)).toEqual(own.toSorted())
    expect(names.filter((name) => name.startsWith('outbox_'))).not.toEqual([])
  })

  test('the list of what writes `runs` has every procedure and every file that does', () => {
    const [section = ''] = /## Who writes `runs`[^]*?\n## /.exec(read('internals/architecture'))!

    const named = quoted(section)
    const writers = [
      ...writersIn('src/postgres/procedures', '.sql').map((path) => basename(path, '.sql')),
      ...writersIn('src/sqlite/operations', '.ts').map((path) => basename(path)),
    ]
    expect(writers.filter((name) => !named.includes(name))).toEqual([])
    expect(writers.length).toBeGreaterThan(30)
  })
})

function read(page: string): string {
  return readFileSync(join(ROOT, `docs/${page}.md`), 'utf8')
}

/** The words of a text that are written as code, in its order. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
}

function writersIn(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter(
    (path) =>
      path.endsWith(ending) &&
      !path.endsWith('.test.ts') &&
      WRITE.test(readFileSync(join(ROOT, folder, path), 'utf8')),
  )
}
