// Runs the built command line as users do: as a process of its own.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The program that `npx holdfast` starts. */
export const BIN = join(ROOT, 'dist/cli/bin.js')

/** What a process wrote, and how it ended. */
export interface Result {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** How to run a command. */
export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** Runs the command line to its end. */
export function holdfast(args: readonly string[], options: RunOptions = {}): Promise<Result> {
  return runProgram(process.execPath, [BIN, ...args], options)
}

/** Runs a shell command in which `holdfast` is the command line. */
export function shell(line: string, options: RunOptions = {}): Promise<Result> {
  const script = `holdfast() { "${process.execPath}" "${BIN}" "$@"; }\n${line}`
  return runProgram('bash', ['-c', script], options)
}

/** Runs a program to its end. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env, input = '' }: RunOptions = {},
): Promise<Result> {
  if (!existsSync(BIN)) throw new Error('dist/ is not built: start with `npm run build`')
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: environment(env) })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    // A command that reads nothing may have ended already.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** The environment of a user, without what the test runner adds to it. */
export function environment(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, NODE_NO_WARNINGS: '1', ...added }
}
