import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from 'node:worker_threads'

// Not those of the process: loaders and instruments have no business here, and some options
// (--input-type) would not let the thread start. Node 22 calls its SQLite experimental; that we use
// it is our decision, not news for the user.
const execArgv = ['--disable-warning=ExperimentalWarning']

/** What to start a thread with: `new Worker(...threadEntry(…))`. */
export function threadEntry(workerData: unknown): [entry: URL | string, options: WorkerOptions] {
  if (import.meta.url.endsWith('.ts')) return [fromSource(), { workerData, execArgv, eval: true }]
  return [new URL('./thread-main.js', import.meta.url), { workerData, execArgv }]
}

let script: string | undefined

/**
 * The thread's code as one script, for our own tests and benchmarks, which run the sources.
 *
 * Node 20 cannot read TypeScript, and what makes it read this file (vitest, tsx) does not reach into
 * threads. Loading tsx there works but takes most of a second for each; this takes that once.
 */
function fromSource(): string {
  if (script === undefined) {
    const require = createRequire(import.meta.url)
    const esbuild = require('esbuild') as { buildSync(options: object): Built }
    const { outputFiles } = esbuild.buildSync({
      entryPoints: [fileURLToPath(new URL('./thread-main.ts', import.meta.url))],
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'cjs',
      define: { 'import.meta.url': JSON.stringify(import.meta.url) },
      sourcemap: 'inline',
      write: false,
    })
    script = outputFiles[0]!.text
  }
  return script
}

interface Built {
  readonly outputFiles: readonly { readonly text: string }[]
}
