// Runs what touches SQLite and threads on the other lines of Node that are supported, beside the one
// that runs the whole suite. Node comes from npm, and with it a better-sqlite3 that these lines can
// load: the one in node_modules was compiled for the line that installed it. What cannot be installed
// is skipped, and that is printed.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LINES = ['22', '24']
const INSTALL_MS = 120_000
const TEST_MS = 180_000

const root = fileURLToPath(new URL('..', import.meta.url))
const current = process.versions.node.split('.')[0]

// All at once, since each mostly waits. What one prints stays together.
const lines = LINES.filter((line) => line !== current).map(test)
for (const line of lines) {
  const { passed, printed } = await line
  process.stdout.write(printed)
  if (!passed) process.exitCode = 1
}

async function test(line) {
  const found = await install(line)
  if (found.node === undefined) {
    return {
      passed: true,
      printed: `Node ${line}: SKIPPED, it cannot be installed: ${found.why}\n`,
    }
  }
  // …/node_modules/node/bin/node
  const modules = join(dirname(found.node), '../..')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--config', 'vitest.node-lines.config.ts']
  const env = { ...process.env, HOLDFAST_TEST_BETTER_SQLITE3: join(modules, 'better-sqlite3') }
  const { code, printed } = await run(found.node, args, TEST_MS, { cwd: root, env })
  return { passed: code === 0, printed }
}

/** The program, in the folder that npm has put it into; or why there is none. */
async function install(line) {
  const packages = [`--package=node@${line}`, '--package=better-sqlite3@13']
  const args = ['exec', '--yes', '--silent', ...packages, '-c', 'node -p process.execPath']
  const { stdout, printed } = await run('npm', args, INSTALL_MS, {
    shell: process.platform === 'win32',
  })
  const path = stdout.trim().split('\n').at(-1)
  if (path === process.execPath) return { why: 'npm answered with the Node that runs this' }
  if (path) return { node: path }
  return { why: printed.trim().split('\n').at(-1) }
}

/** Runs a program to its end; never rejects. */
function run(program, args, timeout, options) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { ...options, timeout, stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let printed = ''
    child.stdout.setEncoding('utf8')
    child.stderr.setEncoding('utf8')
    child.stdout.on('data', (text) => {
      stdout += text
      printed += text
    })
    child.stderr.on('data', (text) => {
      printed += text
    })
    child.once('error', (error) =>
      resolve({ code: null, stdout, printed: printed + error.message }),
    )
    child.once('close', (code, signal) => {
      if (signal !== null) printed += `ended by ${signal} after at most ${timeout / 1_000} s\n`
      resolve({ code, stdout, printed })
    })
  })
}
