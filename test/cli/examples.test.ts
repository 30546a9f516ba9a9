import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { format, type FormatConfig } from 'oxfmt'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { commandHelp } from '../../src/cli/args/help.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { Terminal } from '../../src/cli/output/terminal.ts'
import { BIN, environment, shell } from './cli.ts'
import { REFERENCE, reference } from './reference.ts'
import { Projects } from './scene.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

const projects = new Projects()
beforeAll(() => projects.seed())
afterAll(() => projects.remove())

/** Commands that run until they are stopped. */
const ENDLESS: readonly string[] = ['dashboard', 'dev', 'start']

describe('examples', () => {
  const examples = COMMANDS.flatMap(({ name, examples: own }) =>
    own.map(({ line }) => ({ name, line })),
  )

  test('every command has one', () => {
    expect(COMMANDS.filter((command) => command.examples.length === 0)).toEqual([])
  })

  test.concurrent.each(examples.filter(({ name }) => !ENDLESS.includes(name)))(
    '$line',
    { timeout: 90_000 },
    async ({ line }) => {
      const answer = await shell(`set -o pipefail\n${line}`, { cwd: projects.create() })

      expect(answer).toMatchObject({ code: 0 })
    },
  )

  test.concurrent.each(examples.filter(({ name }) => ENDLESS.includes(name)))(
    '$line',
    { timeout: 90_000 },
    async ({ line }) => {
      const cwd = projects.create()

      const answer = await untilReady(line.split(' ').slice(1), cwd)

      expect(answer).toMatchObject({ code: 0, said: expect.stringContaining('running ') as string })
    },
  )
})

/** Starts a command that does not end, stops it once it is ready, and answers how it ended. */
function untilReady(
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BIN, ...args], { cwd, env: environment() })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      const wasReady = said.includes('running ')
      said += text
      if (!wasReady && said.includes('running ')) child.kill('SIGTERM')
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, said }))
  })
}

describe('the reference', () => {
  test('is what `npm run generate:cli` writes', async () => {
    const config = JSON.parse(
      readFileSync(new URL('../../.oxfmtrc.json', import.meta.url), 'utf8'),
    ) as FormatConfig
    const { code } = await format(REFERENCE, reference(), config)

    expect(readFileSync(REFERENCE, 'utf8')).toBe(code)
  })

  test('each command has help with its examples', () => {
    const { stdin, stdout, stderr } = process
    const terminal = new Terminal({ stdin, stdout, stderr, env: {}, cwd: '.' }, { noColor: true })

    for (const command of COMMANDS) {
      const help = commandHelp(terminal, command)
      for (const { line } of command.examples) expect(help).toContain(line)
    }
  })
})
