import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { open } from 'holdfast'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BIN, environment, holdfast, runProgram } from './cli.ts'
import { approval } from './programs/shop.ts'
import { Projects } from './scene.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const projects = new Projects()
beforeAll(() => projects.seed())
afterAll(() => projects.remove())

const hasPty = spawnSync('python3', ['-c', 'import pty']).status === 0
const why = hasPty ? '' : ' (skipped: needs python3 with pty)'

/** Runs the command line on a pseudo-terminal. */
async function onPty(
  args: readonly string[],
  cwd: string,
  options: {
    readonly columns?: number
    readonly type?: readonly { readonly after: string; readonly text: string }[]
    readonly env?: Readonly<Record<string, string>>
  } = {},
): Promise<{ code: number; shown: string }> {
  const { columns = 100, type = [], env = {} } = options
  const spec = {
    program: process.execPath,
    args: [BIN, ...args],
    env: environment({ TERM: 'xterm', ...env }),
    columns,
    type,
  }
  const script = join(import.meta.dirname, 'on-terminal.py')
  const { stdout, stderr } = await runProgram('python3', [script, JSON.stringify(spec)], { cwd })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as { code: number; shown: string }
}

const COLOUR = '\u001b['

test.skipIf(!hasPty)(`colours appear on a terminal, unless they are turned off${why}`, async () => {
  const cwd = projects.create()
  const list = ['instances', 'list']

  const [coloured, noColor, option, dumb] = await Promise.all([
    onPty(list, cwd),
    onPty(list, cwd, { env: { NO_COLOR: '1' } }),
    onPty([...list, '--no-color'], cwd),
    onPty(list, cwd, { env: { TERM: 'dumb' } }),
  ])

  expect(coloured.shown).toContain(COLOUR)
  for (const { shown } of [noColor, option, dumb]) expect(shown).not.toContain(COLOUR)
})

test('colours appear elsewhere if they are forced', async () => {
  const cwd = projects.create()

  const [plain, forced] = await Promise.all([
    holdfast(['instances', 'list'], { cwd }),
    holdfast(['instances', 'list'], { cwd, env: { FORCE_COLOR: '1' } }),
  ])

  expect(plain.stdout).not.toContain(COLOUR)
  expect(forced.stdout).toContain(COLOUR)
})

test.skipIf(!hasPty).each([72, 44, 12])(
  `a table is not wider than %d columns of the terminal, whatever it shows${why}`,
  async (columns) => {
    const cwd = projects.create()

    const { shown } = await onPty(['instances', 'list', '--no-color'], cwd, { columns })

    const widths = shown.split(/\r?\n/).map((line) => line.length)
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
    expect(shown).toContain('…')
    expect(shown).not.toContain('\u001b')
  },
)

test.skipIf(!hasPty)(
  `a filter is confirmed, and a progress bar shows how far it is${why}`,
  async () => {
    const cwd = projects.create()
    const cancel = ['instances', 'cancel', '--workflow', 'approval']
    const question = 'cancel 3 instances? [y/N]'

    const no = await onPty(cancel, cwd, { type: [{ after: question, text: 'n\r' }] })
    const yes = await onPty(cancel, cwd, { type: [{ after: question, text: 'y\r' }] })

    expect(no).toMatchObject({ code: 1 })
    expect(no.shown).toContain('nothing was done')
    expect(yes).toMatchObject({ code: 0 })
    expect(yes.shown).toMatch(/cancel [█░]+ 0\/3/)
    expect(yes.shown).toContain('cancellation requested: 3 instances')
  },
)

test.skipIf(!hasPty)(`Ctrl-C at a question ends with 130, and does nothing${why}`, async () => {
  const cwd = projects.create()

  const cancelled = await onPty(['instances', 'cancel', '--workflow', 'approval'], cwd, {
    type: [{ after: '[y/N]', text: '\u0003' }],
  })

  expect(cancelled).toMatchObject({ code: 130 })
  expect(cancelled.shown).toContain('nothing was done')
})

test.skipIf(!hasPty)(`Ctrl-C ends a wait with 130${why}`, async () => {
  const cwd = projects.create()
  await using runtime = await open(`file:${join(cwd, 'shop.db')}`, { register: approval })
  await runtime.start(approval, null, { id: 'waits' })

  const { code } = await onPty(['instances', 'watch', 'waits'], cwd, {
    type: [{ after: 'running', text: '\u0003' }],
  })

  expect(code).toBe(130)
})

test.skipIf(!hasPty)(`watching all instances redraws one screen, until Ctrl-C${why}`, async () => {
  const cwd = projects.create()

  const { code, shown } = await onPty(['instances', 'watch', '--interval', '100ms'], cwd, {
    // Once it was drawn for the second time.
    type: [
      { after: 'order-7', text: '' },
      { after: '\u001b[J', text: '\u0003' },
    ],
  })

  expect(code).toBe(130)
  expect(shown).toContain('\u001b[H')
  expect(shown).toContain('approval-1')
})
