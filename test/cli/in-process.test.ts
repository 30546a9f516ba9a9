// What costs a process each to ask of the built command line, and needs nothing of it but its answers.

import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activity, open, workflow } from '../../src/index.ts'
import { tempFile } from '../support/sqlite.ts'
import type { Result, RunOptions } from './cli.ts'
import { holdfastHere } from './in-process.ts'
import { QUIET } from './seed.ts'

const TASKS = 1_100
const LONG = 'x'.repeat(501)

const done = workflow('done', async () => null)
const remote = activity('remote', { tag: 'gpu', startTimeout: '1h' }, async () => null)
const fan = workflow('fan', async (count: number, ctx) => {
  await ctx.all(Array.from({ length: count }, () => ctx.run(remote, undefined)))
})

const file = tempFile()
const where = { cwd: file.folder, env: { HOLDFAST_STORE: `file:${file.path}` } }

const ask = (args: readonly string[], options: RunOptions = {}): Promise<Result> =>
  holdfastHere(args, { ...where, ...options })

beforeAll(async () => {
  await using runtime = await open(where.env.HOLDFAST_STORE, {
    register: [done, fan],
    tags: 'none',
    log: QUIET,
  })
  for (const id of ['a', 'b', 'c']) await runtime.run(done, null, { id })
  await runtime.start(fan, TASKS, { id: 'fan' })
  await runtime.idle()
})

afterAll(() => rmSync(file.folder, { recursive: true, force: true }))

describe('ids', () => {
  test('are looked up in chunks, and those that no instance has are named', async () => {
    const none = Array.from({ length: 120 }, (_, i) => `none-${i}`)
    const input = ['a', ...none, 'b', 'c'].join('\n')

    const shown = await ask(['instances', 'delete', '-', '--dry-run', '-o', 'ids'], { input })

    expect(shown).toMatchObject({ code: 3, stdout: 'a\nb\nc\n' })
    expect(shown.stderr.match(/^not found: none-\d+$/gm)).toHaveLength(120)
  })

  test.each([
    ['instances', 'show', ''],
    ['instances', 'show', LONG],
    ['instances', 'history', 'a\u0007'],
    ['instances', 'tree', ''],
    ['instances', 'watch', ''],
    ['instances', 'export', LONG],
    ['instances', 'fork', LONG, '--at', '1'],
    ['instances', 'fork', 'a', '--at', '1', '--id', ''],
    ['instances', 'send', LONG, 'go'],
    ['instances', 'send', 'a', ''],
    ['instances', 'list', '--parent', LONG],
    ['schedules', 'show', ''],
    ['schedules', 'pause', LONG],
    ['run', 'done', '--id', '', '--detach'],
  ])('that cannot be one are a wrong command line: %s %s', async (...args) => {
    const refused = await ask(args)

    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/must have 1 to \d+ characters/)
  })

  test('are checked before the first instance is changed', async () => {
    const input = `a\n${LONG}\n`

    const refused = await ask(['instances', 'delete', '-'], { input })

    expect(refused.code).toBe(2)
    expect((await ask(['instances', 'show', 'a', '-o', 'ids'])).stdout).toBe('a\n')
  })
})

describe('lists', () => {
  test('of tasks are read in pages, as many as asked for', async () => {
    const all = await ask(['tasks', '-n', '5000', '-o', 'ids'])
    const some = await ask(['tasks', '-n', '1050', '-o', 'json'])

    expect(all.stdout.match(/^fan$/gm)).toHaveLength(TASKS)
    expect(all.stderr).toBe('')
    expect(JSON.parse(some.stdout)).toHaveLength(1050)
    expect(some.stderr).toBe('there are more: choose another --limit\n')
  })

  test('of instances say where the rest begins', async () => {
    const first = await ask(['instances', 'list', '-n', '2', '-o', 'ids'])
    const after = /--after (\S+),/.exec(first.stderr)![1]!
    const rest = await ask(['instances', 'list', '-n', 'all', '--after', after, '-o', 'ids'])

    expect(first.stdout + rest.stdout).toBe('fan\nc\nb\na\n')
    expect(rest.stderr).toBe('')
  })
})

test('an instance is not watched with a filter, which would be ignored', async () => {
  const refused = await ask(['instances', 'watch', 'a', '--workflow', 'other'])

  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('give an id or a filter, not both')
})

test('a file that is empty is no queue, and stays empty', async () => {
  const path = join(file.folder, 'empty.db')
  writeFileSync(path, '')

  for (const args of [
    ['stats', path],
    ['list', path],
    ['retry', path, '1'],
  ]) {
    const refused = await ask(['queue', ...args])

    expect(refused).toMatchObject({ code: 3, stdout: '' })
    expect(refused.stderr).toContain(`${path} is empty, not a queue`)
  }
  expect(statSync(path).size).toBe(0)
})

test('SQL is printed for the schema of the project', async () => {
  const manifest = join(file.folder, 'package.json')
  writeFileSync(manifest, JSON.stringify({ holdfast: { schema: 'billing' } }))

  const printed = await ask(['migrate', '--print'], { env: {} })
  const other = await ask(['migrate', '--print'], { env: { HOLDFAST_SCHEMA: 'other' } })

  expect(printed.stdout).toContain('"billing"')
  expect(other.stdout).not.toContain('billing')
  rmSync(manifest)
})
