// Makes one script of the code of each thread and puts it into the build as text, so that the package works
// inside a bundle: see src/base/threads/thread-entry.ts.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

const BUILD = join(import.meta.dirname, '..', 'build')

const THREADS = [
  ['sqlite/thread/thread-main', 'sqlite/thread/thread-script', 'THREAD_SCRIPT'],
  ['postgres/lease/lease-thread-main', 'postgres/lease/lease-thread-script', 'LEASE_THREAD_SCRIPT'],
]

for (const [entry, target, name] of THREADS) {
  const main = join(BUILD, `${entry}.js`)
  const { outputFiles } = buildSync({
    entryPoints: [main],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    define: { 'import.meta.url': 'HOLDFAST_CALLER' },
    banner: { js: 'const HOLDFAST_CALLER = process.argv[2]; process.argv[1] = process.argv[3];' },
    // Names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    write: false,
  })
  const path = join(BUILD, `${target}.js`)
  const stub = readFileSync(path, 'utf8')
  const empty = `export const ${name} = undefined`
  if (!stub.includes(empty)) throw new Error(`${path} has no "${empty}"`)
  const script = JSON.stringify(outputFiles[0].text)
  writeFileSync(
    path,
    stub.replace(empty, () => `export const ${name} = ${script}`),
  )
  // The script contains it now, and nothing else runs it.
  rmSync(main)
  rmSync(join(BUILD, `${entry}.d.ts`))
}
