import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

interface Built {
  readonly outputFiles: readonly { readonly path: string; readonly text: string }[]
}

let built: Built | undefined

/**
 * Writes the programs as plain JavaScript into a folder of their own under `folder`; answers the path
 * of the worker program. The others are beside it.
 *
 * A round starts dozens of processes. With tsx each takes a second of CPU time to load; this way it
 * is a tenth of that. It is made from the sources once, so that all processes of a run have the same
 * code, whatever is edited meanwhile.
 */
export function writeWorkerProgram(folder: string): string {
  built ??= build()
  const program = join(folder, 'program')
  mkdirSync(program)
  for (const { path, text } of built.outputFiles) writeFileSync(join(program, basename(path)), text)
  // Sources are asked for beside the code that starts the threads.
  for (const name of ['thread-main', 'lease-thread-main']) {
    writeFileSync(join(program, `${name}.ts`), `import './${name}.js'\n`)
  }
  writeFileSync(join(program, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(program, 'node_modules'))
  return join(program, 'worker.js')
}

function build(): Built {
  const esbuild = createRequire(import.meta.url)('esbuild') as { buildSync(options: object): Built }
  return esbuild.buildSync({
    entryPoints: {
      worker: join(import.meta.dirname, 'programs/worker.ts'),
      stalls: join(import.meta.dirname, 'programs/stalls.ts'),
      poison: join(import.meta.dirname, 'programs/poison.ts'),
      hands: join(import.meta.dirname, 'programs/hands.ts'),
      schedules: join(import.meta.dirname, 'programs/schedules.ts'),
      limits: join(import.meta.dirname, 'programs/limits.ts'),
      traced: join(import.meta.dirname, 'programs/traced.ts'),
      'thread-main': join(ROOT, 'src/sqlite/thread/thread-main.ts'),
      'lease-thread-main': join(ROOT, 'src/postgres/lease/lease-thread-main.ts'),
    },
    outdir: 'program',
    bundle: true,
    packages: 'external',
    platform: 'node',
    // As the compiler does it: the oldest supported Node has no `using`.
    target: 'es2023',
    format: 'esm',
    sourcemap: 'inline',
    write: false,
  })
}
