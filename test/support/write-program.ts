// Programs of tests as plain JavaScript, which Node starts in a tenth of the time that tsx takes.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, parse } from 'node:path'
import { THREAD_BUILD } from '../../src/base/threads/thread-entry.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Built {
  readonly outputFiles: readonly { readonly path: string; readonly text: string }[]
}

interface Esbuild {
  buildSync(options: object): Built
  transformSync(source: string, options: object): { readonly code: string }
}

const esbuild = (): Esbuild => createRequire(import.meta.url)('esbuild') as Esbuild

// As the compiler does it: the oldest Node does not know `using`.
const TARGET = 'es2023'

/** Writes a program into a folder under `folder`; answers its path. */
export function writeProgram(folder: string, source: string): string {
  const { name } = parse(source)
  return join(writePrograms(folder, { [name]: source }), `${name}.js`)
}

/**
 * Writes programs into `folder`, in a folder `program` of their own, which it answers. They are made
 * from the sources once, so that all processes of a run have the same code, whatever is edited
 * meanwhile.
 */
export function writePrograms(folder: string, sources: Readonly<Record<string, string>>): string {
  const key = JSON.stringify(sources)
  const built = builds.get(key) ?? build(sources)
  builds.set(key, built)
  const program = join(folder, 'program')
  mkdirSync(program)
  for (const { path, text } of built.outputFiles) writeFileSync(join(program, basename(path)), text)
  writeFileSync(join(program, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(program, 'node_modules'))
  return program
}

const builds = new Map<string, Built>()

function build(sources: Readonly<Record<string, string>>): Built {
  const { outputFiles } = esbuild().buildSync({
    entryPoints: sources,
    // Nothing is written there: what was built is then `../dist`.
    outdir: join(ROOT, 'program'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: TARGET,
    format: 'esm',
    alias: packageEntries(),
    external: [join(ROOT, 'dist/*')],
    write: false,
  })
  const complete = (text: string): string =>
    withThreads(text).replaceAll('from "../dist/', `from "${ROOT}/dist/`)
  return { outputFiles: outputFiles.map(({ path, text }) => ({ path, text: complete(text) })) }
}

/** `holdfast` and what is under it, as they were built. */
function packageEntries(): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>
  }
  return Object.fromEntries(
    Object.entries(exports).map(([name, to]) => [
      name.replace('.', 'holdfast'),
      join(ROOT, typeof to === 'string' ? to : to.default),
    ]),
  )
}

// The code of threads, and where a program keeps it: from sources, each process would build it.
const THREADS = [
  ['var THREAD_SCRIPT = void 0;', 'src/sqlite/thread/thread-main.ts'],
  ['var LEASE_THREAD_SCRIPT = void 0;', 'src/postgres/lease/lease-thread-main.ts'],
] as const

/** Puts the scripts of threads in place, as `scripts/embed-threads.mjs` does with the package. */
function withThreads(program: string): string {
  let text = program
  for (const [empty, entry] of THREADS) {
    text = text.replace(empty, () => empty.replace('void 0', () => scriptOf(entry)))
  }
  return text
}

const scripts = new Map<string, string>()

function scriptOf(entry: string): string {
  let script = scripts.get(entry)
  if (script === undefined) {
    const { outputFiles } = esbuild().buildSync({
      entryPoints: [join(ROOT, entry)],
      ...THREAD_BUILD,
      target: TARGET,
    })
    script = JSON.stringify(outputFiles[0]!.text)
    scripts.set(entry, script)
  }
  return script
}

/** A module without its types. */
export function toJavaScript(source: string): string {
  return esbuild().transformSync(source, { loader: 'ts', target: TARGET }).code
}
