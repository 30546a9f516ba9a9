import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

// The code of threads.
const THREADS = {
  'thread-main': join(ROOT, 'src/sqlite/thread/thread-main.ts'),
  'lease-thread-main': join(ROOT, 'src/postgres/lease/lease-thread-main.ts'),
}

interface Built {
  readonly outputFiles: readonly { readonly path: string; readonly text: string }[]
}

/**
 * Writes a program as plain JavaScript into a folder under `folder`; answers its path.
 *
 * Started many times, it takes a tenth of the time that tsx would take.
 */
export function writeProgram(folder: string, source: string): string {
  const esbuild = createRequire(import.meta.url)('esbuild') as { buildSync(options: object): Built }
  const name = basename(source, '.ts')
  const { outputFiles } = esbuild.buildSync({
    entryPoints: { [name]: source, ...THREADS },
    outdir: 'program',
    bundle: true,
    packages: 'external',
    platform: 'node',
    // As the compiler does it: the oldest Node does not know `using`.
    target: 'es2023',
    format: 'esm',
    write: false,
  })
  const program = join(folder, 'program')
  mkdirSync(program)
  for (const { path, text } of outputFiles) writeFileSync(join(program, basename(path)), text)
  // Sources are asked for beside the code that starts the thread.
  for (const thread of Object.keys(THREADS)) {
    writeFileSync(join(program, `${thread}.ts`), `import './${thread}.js'\n`)
  }
  writeFileSync(join(program, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(program, 'node_modules'))
  return join(program, `${name}.js`)
}
