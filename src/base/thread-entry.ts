import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from 'node:worker_threads'

// Not those of the process: loaders and instruments have no business here, and some options
// (--input-type) would not let the thread start. Node 22 calls its SQLite experimental; that we use
// it is our decision, not news for the user.
const execArgv = ['--disable-warning=ExperimentalWarning']

/**
 * What to start a thread with that runs the file `name` beside the calling one:
 * `new Worker(...threadEntry(import.meta.url, 'thread-main', data))`.
 */
export function threadEntry(
  callerUrl: string,
  name: string,
  workerData: unknown,
): [entry: URL | string, options: WorkerOptions] {
  if (callerUrl.endsWith('.ts')) {
    return [fromSource(callerUrl, name), { workerData, execArgv, eval: true }]
  }
  return [new URL(`./${name}.js`, callerUrl), { workerData, execArgv }]
}

const scripts = new Map<string, string>()

/**
 * The thread's code as one script, for our own tests, which run the sources.
 *
 * Node 20 cannot read TypeScript, and what makes it read this file (vitest, tsx) does not reach into
 * threads. Loading tsx there works but takes most of a second for each; this takes that once.
 */
function fromSource(callerUrl: string, name: string): string {
  const entry = fileURLToPath(new URL(`./${name}.ts`, callerUrl))
  let script = scripts.get(entry)
  if (script === undefined) {
    const require = createRequire(import.meta.url)
    const esbuild = require('esbuild') as { buildSync(options: object): Built }
    const { outputFiles } = esbuild.buildSync({
      entryPoints: [entry],
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'cjs',
      define: { 'import.meta.url': JSON.stringify(callerUrl) },
      sourcemap: 'inline',
      write: false,
    })
    script = outputFiles[0]!.text
    scripts.set(entry, script)
  }
  return script
}

interface Built {
  readonly outputFiles: readonly { readonly text: string }[]
}
