// Runs what touches SQLite and threads on the other lines of Node that are supported, beside the one
// that runs the whole suite. Node comes from npm, and with it a better-sqlite3 that these lines can
// load: the one in node_modules was compiled for the line that installed it. What cannot be installed
// is skipped, and that is printed.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LINES = ['22', '24']
const INSTALL_MS = 120_000
const TEST_MS = 180_000

const root = fileURLToPath(new URL('..', import.meta.url))
const current = process.versions.node.split('.')[0]
let failed = false

for (const line of LINES) {
  if (line === current) continue
  const node = install(line)
  if (node !== undefined && !passes(node)) failed = true
}
process.exitCode = failed ? 1 : 0

/** The program, in the folder that npm has put it into. */
function install(line) {
  const packages = [`--package=node@${line}`, '--package=better-sqlite3@13']
  const args = ['exec', '--yes', '--silent', ...packages, '-c', 'node -p process.execPath']
  const { stdout, stderr, error } = spawnSync('npm', args, {
    encoding: 'utf8',
    timeout: INSTALL_MS,
    shell: process.platform === 'win32',
  })
  const path = stdout?.trim().split('\n').at(-1)
  if (path && path !== process.execPath) return path
  const why = error?.message ?? stderr.trim().split('\n').at(-1)
  process.stdout.write(`Node ${line}: SKIPPED, it cannot be installed: ${why}\n`)
  return undefined
}

function passes(node) {
  // …/node_modules/node/bin/node
  const modules = join(dirname(node), '../..')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { status } = spawnSync(node, [vitest, 'run', '--config', 'vitest.node-lines.config.ts'], {
    cwd: root,
    stdio: 'inherit',
    timeout: TEST_MS,
    env: { ...process.env, HOLDFAST_TEST_BETTER_SQLITE3: join(modules, 'better-sqlite3') },
  })
  return status === 0
}
