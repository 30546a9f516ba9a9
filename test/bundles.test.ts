import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, type BuildOptions } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { testSchema } from './support/postgres.ts'

// The built package inside a bundle that is put somewhere else, as in an image that holds one file and
// the packages which cannot be bundled.

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const ROOT = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bundles-'))
const NATIVE = process.getBuiltinModule('node:sqlite') === undefined ? ['better-sqlite3'] : []

beforeAll(() => {
  mkdirSync(join(folder, 'app/node_modules'), { recursive: true })
  for (const name of [...NATIVE, 'bindings', 'file-uri-to-path']) link(name, 'app')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SQLITE = `
import { open, workflow } from 'holdfast'
import { openQueue } from 'holdfast/queue'
import { openDatabase, transaction } from 'holdfast/sqlite'
async function main() {
  const path = process.argv[2]
  const own = openDatabase({ path })
  own.exec('create table notes (text text)')
  const note = transaction('note', (text, { tx }) => tx.run('insert into notes values (?)', text))
  const hello = workflow('hello', async (name, ctx) => {
    await ctx.run(note, name)
    return 'hello ' + name
  })
  const holdfast = await open('file:' + path, { register: hello })
  console.log(await holdfast.run(hello, 'Kim'))
  own.exec('begin immediate')
  const { id } = await holdfast.in(own).start(hello, 'Ada')
  own.exec('commit')
  console.log(await holdfast.get(hello, id).result())
  await holdfast.close()
  const queue = await openQueue(path + '-queue')
  await queue.push('a')
  console.log((await queue.take()).data)
  await queue.close()
}
main()
`

const FORMATS = [
  ['an ES module', { format: 'esm', outExtension: { '.js': '.mjs' } }],
  ['CommonJS', { format: 'cjs', outExtension: { '.js': '.cjs' } }],
  ['minified CommonJS', { format: 'cjs', outExtension: { '.js': '.cjs' }, minify: true }],
] as const satisfies readonly (readonly [string, BuildOptions])[]

describe.each(FORMATS)('a program bundled as %s', (name, options) => {
  test('runs workflows, transactions and a queue on SQLite', async () => {
    const file = await bundle(`sqlite-${name}`, SQLITE, options)

    const ended = runAway(file, [join(folder, `${name}.db`)])

    expect(ended).toEqual({ status: 0, stderr: '', lines: ['hello Kim', 'hello Ada', 'a'] })
  })

  test('runs workflows on PostgreSQL, with the thread that renews its lease', async () => {
    await using database = await testSchema('bundle')
    const file = await bundle(`postgres-${name}`, POSTGRES, options)
    link('pg', 'app')

    const ended = runAway(file, [database.url, database.schema])

    expect(ended).toEqual({ status: 0, stderr: '', lines: ['hello Kim', 'lease connections: 1'] })
  })
})

const POSTGRES = `
import { open, workflow } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import pg from 'pg'
async function main() {
  const [url, schema] = process.argv.slice(2)
  const hello = workflow('hello', async (name) => 'hello ' + name)
  const log = { debug() {}, info() {}, warn: console.error, error: console.error }
  const holdfast = await open(postgres({ url, schema }), { register: hello, lease: '1s', log })
  console.log(await holdfast.run(hello, 'Kim'))
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const count = async () => {
    const { rows } = await pool.query(
      "select count(*)::int as n from pg_stat_activity where application_name = 'holdfast lease' and query like '%' || $1 || '%'",
      [schema],
    )
    return rows[0].n
  }
  for (let tries = 0; (await count()) === 0 && tries < 200; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  console.log('lease connections: ' + (await count()))
  await pool.end()
  await holdfast.close()
}
main()
`

test('a bundle that contains pg itself logs that the lease thread lacks it', async () => {
  await using database = await testSchema('bundle')
  const program = `
    import { open, workflow } from 'holdfast'
    import { postgres } from 'holdfast/postgres'
    import pg from 'pg'
    async function main() {
      const [url, schema] = process.argv.slice(2)
      const hello = workflow('hello', async (name) => 'hello ' + name)
      const pool = new pg.Pool({ connectionString: url })
      const warned = new Promise((resolve) => {
        const log = { debug() {}, info() {}, warn: (data) => resolve(data.why), error() {} }
        main.opened = open(postgres({ pool, schema }), { register: hello, log })
      })
      const holdfast = await main.opened
      console.log(await holdfast.run(hello, 'Kim'))
      console.log(await warned)
      await holdfast.close()
      await pool.end()
    }
    main()
  `
  const options = { ...FORMATS[1][1], external: ['better-sqlite3', 'pg-native'] }
  const file = await bundle('holds-pg', program, options, 'alone')

  const { lines, status } = runAway(file, [database.url, database.schema])

  expect(status).toBe(0)
  expect(lines).toEqual([
    'hello Kim',
    'open: the package "pg" is needed for PostgreSQL and cannot be loaded: run `npm install pg`, and if you use a bundler, keep it external',
  ])
})

/** Bundles a program into a folder of its own. */
async function bundle(
  name: string,
  program: string,
  options: BuildOptions,
  place = 'app',
): Promise<string> {
  const source = join(folder, 'source')
  mkdirSync(join(source, 'node_modules'), { recursive: true })
  link('pg', 'source')
  symlinkOnce(ROOT, join(source, 'node_modules/holdfast'))
  const entry = join(source, `${name.replaceAll(' ', '-')}.mjs`)
  writeFileSync(entry, program)
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    target: 'node20',
    external: ['better-sqlite3', 'pg'],
    outdir: join(folder, place),
    write: false,
    logLevel: 'silent',
    ...options,
  })
  mkdirSync(join(folder, place), { recursive: true })
  writeFileSync(outputFiles![0]!.path, outputFiles![0]!.contents)
  return outputFiles![0]!.path
}

/** Runs it from another folder, where there are no packages. */
function runAway(file: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', file, ...args],
    { cwd: tmpdir(), encoding: 'utf8', timeout: 30_000 },
  )
  return { status, stderr, lines: stdout.trim().split('\n') }
}

function link(name: string, place: string): void {
  symlinkOnce(join(ROOT, 'node_modules', name), join(folder, place, 'node_modules', name))
}

function symlinkOnce(target: string, path: string): void {
  try {
    symlinkSync(target, path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}
