import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Terminal } from '../output/terminal.ts'
import {
  findStore,
  pidOfDev,
  removeDevFile,
  requireStore,
  schemaOf,
  writeDevFile,
} from './choose-store.ts'

const POSTGRES = 'postgres://localhost/shop'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-choice-'))
  mkdirSync(join(cwd, '.holdfast'))
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

function manifest(holdfast: object): void {
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ holdfast }))
}

function wishes(
  given: { readonly store?: string; readonly schema?: string } = {},
  env: Readonly<Record<string, string>> = {},
) {
  const out = new Writable({ write: (_, __, done) => done() })
  const io = { stdin: Readable.from([]), stdout: out, stderr: out, env, cwd }
  const terminal = new Terminal(io, { noColor: true })
  return { terminal, store: given.store, schema: given.schema }
}

test('the schema is that of the option, of the environment, of the project, or the usual one', () => {
  const env = { HOLDFAST_SCHEMA: 'of-env' }
  expect(schemaOf(wishes({ store: POSTGRES }))).toBe('holdfast')

  manifest({ schema: 'of-project' })

  expect(schemaOf(wishes({ store: POSTGRES }))).toBe('of-project')
  expect(schemaOf(wishes({ store: POSTGRES }, env))).toBe('of-env')
  expect(schemaOf(wishes({ store: POSTGRES }, { HOLDFAST_SCHEMA: '' }))).toBe('of-project')
  expect(findStore(wishes({ store: POSTGRES, schema: 'given' }, env))).toEqual({
    kind: 'postgres',
    url: POSTGRES,
    schema: 'given',
  })
})

test('a file has no schema: one that is configured is ignored, and one that is given refused', () => {
  manifest({ schema: 'of-project' })
  const env = { HOLDFAST_SCHEMA: 'of-env' }
  const path = join(cwd, 'app.db')

  expect(findStore(wishes({ store: 'file:app.db' }, env))).toEqual({
    kind: 'sqlite',
    url: `file:${path}`,
    path,
  })
  expect(() => findStore(wishes({ store: 'file:app.db', schema: 'given' }))).toThrow(
    'a schema is for PostgreSQL only; the store is file:app.db',
  )
})

test('other commands find the store of `dev` with its schema', () => {
  manifest({ schema: 'of-project' })
  const choice = { kind: 'postgres', url: POSTGRES, schema: 'of-dev' } as const

  writeDevFile(cwd, choice)

  expect(statSync(join(cwd, '.holdfast/dev.json')).mode & 0o077).toBe(0)
  expect(pidOfDev(cwd)).toBe(process.pid)
  expect(requireStore(wishes())).toEqual(choice)
  expect(requireStore(wishes({ schema: 'given' }))).toEqual({ ...choice, schema: 'given' })
  // Of another store it says nothing.
  expect(requireStore(wishes({ store: 'postgres://localhost/other' }))).toMatchObject({
    schema: 'of-project',
  })

  removeDevFile(cwd)

  expect(pidOfDev(cwd)).toBeUndefined()
  expect(findStore(wishes())).toBeUndefined()
})

test('a note of `dev` that makes no sense is no note', () => {
  for (const text of ['', 'null', '[]', '{"store":7,"schema":null,"pid":"x"}']) {
    writeFileSync(join(cwd, '.holdfast/dev.json'), text)

    expect(findStore(wishes())).toBeUndefined()
    expect(pidOfDev(cwd)).toBeUndefined()
  }
})
