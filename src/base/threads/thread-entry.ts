import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from 'node:worker_threads'
import { moduleUrl } from './module-url.ts'

// The code of a thread is one script, which the package contains as text: bundlers merge files and
// leave others out, and would not include a file that only a thread runs.

// Without the options of the process: loaders and instrumentation are not needed here, and some
// options (--input-type) would keep the thread from starting. Node 22 warns that its SQLite is
// experimental; using it is our decision, so the user need not see that.
const execArgv = ['--disable-warning=ExperimentalWarning']

/** What the code of a thread is. */
export interface ThreadCode {
  /** The file that starts the thread: `import.meta.url`. */
  readonly callerUrl: string | undefined
  /** The file beside it that the thread runs, without `.ts`. */
  readonly name: string
  /** The script made of it, which the build has put in place; without it, the sources run. */
  readonly script: string | undefined
}

/** What to start a thread with: `new Worker(...threadEntry(code, data))`. */
export function threadEntry(
  { callerUrl, name, script }: ThreadCode,
  workerData: unknown,
): [script: string, options: WorkerOptions] {
  const base = moduleUrl(callerUrl)
  // Where the thread looks for packages: see PREAMBLE.
  const argv = [base, process.argv[1] ?? '']
  return [script ?? fromSource(base, name), { workerData, execArgv, argv, eval: true }]
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
    const require = createRequire(callerUrl)
    const esbuild = require('esbuild') as { buildSync(options: object): Built }
    const { outputFiles } = esbuild.buildSync({
      entryPoints: [entry],
      ...THREAD_BUILD,
      sourcemap: 'inline',
    })
    script = outputFiles[0]!.text
    scripts.set(entry, script)
  }
  return script
}

/** How a thread's script is made; `scripts/embed-threads.mjs` does the same. */
export const THREAD_BUILD = {
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'cjs',
  // The script has no file of its own: packages are looked for from the one that started it.
  define: { 'import.meta.url': 'HOLDFAST_CALLER' },
  banner: { js: 'const HOLDFAST_CALLER = process.argv[2]; process.argv[1] = process.argv[3];' },
  write: false,
}

interface Built {
  readonly outputFiles: readonly { readonly text: string }[]
}
