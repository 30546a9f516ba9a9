import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openStore, startItem, tempFile } from '../../../test/support/sqlite.ts'
import { testProgram } from '../../../test/support/test-program.ts'

const CHILD = testProgram(join(import.meta.dirname, '../../../test/support/sqlite-child.ts'))

function child(...args: string[]): { process: ChildProcess; lines: AsyncIterable<string> } {
  const started = spawn(process.execPath, [CHILD, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { process: started, lines: createInterface(started.stdout) }
}

async function run(...args: string[]): Promise<{ code: number | null; lines: string[] }> {
  const { process: started, lines } = child(...args)
  const exited = once(started, 'exit')
  const said: string[] = []
  for await (const line of lines) said.push(line)
  const [code] = (await exited) as [number | null]
  return { code, lines: said }
}

test('a process that forgets to close its store still exits', async () => {
  using file = tempFile()

  expect(await run('leave', file.path)).toEqual({ code: 0, lines: ['1'] })
})

test('processes that create one file at the same moment find the same file', async () => {
  using file = tempFile()

  const all = await Promise.all([1, 2, 3].map(() => run('open', file.path)))

  expect(all.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(new Set(all.flatMap(({ lines }) => lines)).size).toBe(1)
})

test('two processes write to one file, and nothing of either is lost', async () => {
  using file = tempFile()

  const all = await Promise.all([1, 2].map(() => run('start', file.path, '100')))

  expect(all.map(({ code }) => code)).toEqual([0, 0])
  const iids = all.flatMap(({ lines }) => lines).map(Number)
  expect(new Set(iids).size).toBe(200)
  await using under = await openStore(file.path)
  const loaded = await under.store.load(iids.map((iid) => ({ iid, after: 0 })))
  expect(loaded.map(({ history }) => history.length)).toEqual(iids.map(() => 1))
})

test('acknowledged writes survive kill -9, and the file stays usable', async () => {
  using file = tempFile()
  const { process: started, lines } = child('start', file.path, '100000')
  const exited = once(started, 'exit')
  const acknowledged: number[] = []

  for await (const line of lines) {
    acknowledged.push(Number(line))
    if (acknowledged.length === 50) started.kill('SIGKILL')
  }
  await exited

  expect(acknowledged.length).toBeGreaterThanOrEqual(50)
  await using under = await openStore(file.path)
  const found = await under.store.look(acknowledged)
  expect(found.map((row) => row?.status)).toEqual(acknowledged.map(() => 'running'))
  const answer = await under.commit([startItem(under.first)])
  expect(answer).toMatchObject({ state: 'ok', starts: ['done'] })
})
