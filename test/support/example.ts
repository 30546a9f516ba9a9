// Examples as real processes, on a store of their own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { writePrograms } from './write-program.ts'

const ROOT = join(import.meta.dirname, '../..')

/** How long a test of an example may take: it starts up to three processes, beside other tests. */
export const LIMIT_MS = 90_000
// Ended before its test is, a process that hangs still shows what it said.
const PROCESS_MS = 25_000

/** How a process ended, and its output. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly lines: readonly string[]
  readonly errors: string
}

/** Runs `examples/<name>/main.ts` to its end; with `dieOn`, to the line that has this in it. */
export async function runExample(
  name: string,
  store: string,
  options: { readonly dieOn?: string } = {},
): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  const programs = writePrograms(folder, {
    main: join(ROOT, 'examples', name, 'main.ts'),
    die: join(import.meta.dirname, 'die-on-line.ts'),
  })
  const preload = options.dieOn === undefined ? [] : ['--import', join(programs, 'die.js')]
  const child = spawn(
    process.execPath,
    // Node 22 warns of its own SQLite.
    ['--disable-warning=ExperimentalWarning', ...preload, join(programs, 'main.js'), store],
    { cwd: ROOT, env: { ...process.env, DIE_ON_LINE: options.dieOn }, timeout: PROCESS_MS },
  )
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  rmSync(folder, { recursive: true })
  return { code, signal, lines: output.split('\n').slice(0, -1), errors }
}

/** How a process ends that did what it should. */
export const WELL = { code: 0, signal: null, errors: '' } as const
/** What a process says on stderr of an instance that fails: log lines about it, and nothing else. */
export function linesAbout(id: string): unknown {
  return expect.stringMatching(new RegExp(`^(.* instanceId="${id}" .*\\n)+$`))
}

/** How a process ends that was killed. */
export const KILLED = { code: null, signal: 'SIGKILL', errors: '' } as const

/** The URL of a SQLite file that is removed in the end. */
export function sqliteFile(): Disposable & { readonly url: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  return {
    url: `file:${join(folder, 'store.db')}`,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Both stores that an example runs on without a server. */
export const STORES: readonly (readonly [name: string, open: typeof sqliteFile])[] = [
  ['in memory', () => ({ url: 'memory:', [Symbol.dispose]: () => {} })],
  ['on a file', sqliteFile],
]
