import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

interface Built {
  readonly outputFiles: readonly { readonly path: string; readonly text: string }[]
}

/**
 * Writes a program of `programs/` as plain JavaScript into a folder under `folder`; answers its path.
 *
 * Started many times, it takes a tenth of the time that tsx would take.
 */
export function writeProgram(folder: string, name: string): string {
  const esbuild = createRequire(import.meta.url)('esbuild') as { buildSync(options: object): Built }
  const { outputFiles } = esbuild.buildSync({
    entryPoints: {
      [name]: join(import.meta.dirname, `programs/${name}.ts`),
      'thread-main': join(ROOT, 'src/sqlite/thread/thread-main.ts'),
    },
    outdir: 'program',
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
  })
  const program = join(folder, 'program')
  mkdirSync(program)
  for (const { path, text } of outputFiles) writeFileSync(join(program, basename(path)), text)
  // Sources are asked for beside the code that starts the thread.
  writeFileSync(join(program, 'thread-main.ts'), "import './thread-main.js'\n")
  writeFileSync(join(program, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(program, 'node_modules'))
  return join(program, `${name}.js`)
}
