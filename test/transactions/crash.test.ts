import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { testProgram } from '../support/test-program.ts'
import { openHandle } from './sqlite-handle.ts'

const CHILD = testProgram(join(import.meta.dirname, 'crash-child.ts'))

/** Where a child works, and how many entries are there. */
interface Ground extends AsyncDisposable {
  readonly args: readonly [kind: string, place: string, schema: string]
  entries(): Promise<number>
}

async function sqliteGround(): Promise<Ground> {
  const file = tempFile()
  await using maker = connect(sqlite({ path: file.path }))
  await maker.get('nobody').info()
  const handle = openHandle(file.path)
  handle.exec('create table entries (entry text)')
  return {
    args: ['sqlite', file.path, ''],
    entries: async () => handle.prepare('select * from entries').all().length,
    async [Symbol.asyncDispose]() {
      handle.close()
      file[Symbol.dispose]()
    },
  }
}

async function postgresGround(): Promise<Ground> {
  const database = await testSchema('crash')
  await database.query(`create schema "${database.schema}"`)
  await database.query('create table entries (entry text)')
  return {
    args: ['postgres', database.url, database.schema],
    entries: async () => (await database.query('select * from entries')).length,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

async function runChild({ args }: Ground, dies: 'never' | 'before' | 'after') {
  const child = spawn(process.execPath, [CHILD, ...args, dies], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  return { signal, output }
}

// They mostly wait for processes, so they wait together.
describe.concurrent.each([
  ['sqlite', sqliteGround],
  ['postgres', postgresGround],
])('a process on %s that is killed', (_, open) => {
  test('before the commit of a transaction leaves nothing, and another one runs it', async () => {
    await using ground = await open()

    const killed = await runChild(ground, 'before')
    const between = await ground.entries()
    const next = await runChild(ground, 'never')

    expect(killed).toEqual({ signal: 'SIGKILL', output: '' })
    expect(between).toBe(0)
    expect(next).toEqual({ signal: null, output: 'a\n' })
    expect(await ground.entries()).toBe(1)
  }, 60_000)

  test('after it leaves everything, and it does not run again', async () => {
    await using ground = await open()

    const killed = await runChild(ground, 'after')
    const between = await ground.entries()
    const next = await runChild(ground, 'before')

    expect(killed).toEqual({ signal: 'SIGKILL', output: '' })
    expect(between).toBe(1)
    // It would be killed again, if it ran the code.
    expect(next).toEqual({ signal: null, output: 'a\n' })
    expect(await ground.entries()).toBe(1)
  }, 60_000)
})
