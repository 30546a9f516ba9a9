import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { testProgram } from '../../test/support/test-program.ts'
import { ORDERS } from './domain.ts'
import type { Entry } from './ledger.ts'
import { showProgress } from './progress.ts'
import { summarise } from './summary.ts'

const MAIN = testProgram(join(import.meta.dirname, 'main.ts'))
const ROOT = join(import.meta.dirname, '../..')
const LIMIT_MS = 60_000

// They mostly wait, so they wait together.
describe.concurrent('the example as a process', () => {
  test(
    'without interruption, it handles every order, prints a summary, and cleans up',
    { timeout: LIMIT_MS },
    async () => {
      using place = folder()

      const { code, stdout, stderr } = await ended(start(place.path))

      expect(stderr).toBe('')
      expect(code).toBe(0)
      expect(stdout).toMatch(/kill -9 \d+/)
      expect(stdout).toContain('The same command carries on')
      expect(stdout).toContain('12: 11 shipped, 1 declined')
      expect(stdout).toContain('59, in 64 attempts')
      expect(stdout).toContain('program started       1 time')
      expect(stdout).toContain('cards charged         11, twice: 0')
      expect(stdout).not.toContain('\u001B')
      expect(readdirSync(place.path)).toEqual([])
    },
  )

  test(
    'it prints the address of a dashboard, which shows the orders while it runs',
    { timeout: LIMIT_MS },
    async () => {
      using place = folder()
      const run = start(place.path)
      const end = ended(run)
      let said = ''
      run.stdout!.on('data', (chunk) => (said += String(chunk)))
      while (!/http:\S+\n/.test(said)) await once(run.stdout!, 'data')

      const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(said)![0]
      const page = await fetch(url)
      const list = await fetch(`${url}api/instances?workflow=fulfil%20order&limit=5`)

      expect(await page.text()).toContain('<title>')
      expect(list.status).toBe(200)
      expect(await list.json()).toMatchObject({ items: expect.any(Array) as unknown[] })
      expect(await end).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test.each([1, 2])(
    'killed repeatedly, it continues and charges no card twice (%i)',
    { timeout: LIMIT_MS },
    async () => {
      using place = folder()
      const kills = Array.from({ length: 3 }, () => Math.round(300 + Math.random() * 2_700))

      for (const afterMs of kills) {
        const run = start(place.path)
        await once(run.stdout!, 'data')
        await passTime(afterMs)
        run.kill('SIGKILL')
        await once(run, 'exit')
      }
      const before = ledgerOf(place.path)
      const { code, stdout } = await ended(start(place.path))

      const unsaid = [
        'Start number 4: carrying on.',
        '12: 11 shipped, 1 declined',
        'program started       4 times',
        'cards charged         11, twice: 0',
      ].filter((text) => !stdout.includes(text))
      // What the killed ones had shipped is not shipped again.
      const again = before
        .filter((entry) => entry.what === 'begun' && entry.activity === 'send mail')
        .filter((entry) => 'order' in entry && stdout.includes(`${entry.order}  ship done`))
      expect({ kills, code, unsaid, again }).toEqual({ kills, code: 0, unsaid: [], again: [] })
      expect(readdirSync(place.path)).toEqual([])
    },
  )

  test(
    'Ctrl-C stops it gracefully, and the next start continues at once',
    { timeout: LIMIT_MS },
    async () => {
      using place = folder()
      const first = start(place.path)
      const firstEnd = ended(first)
      await once(first.stdout!, 'data')
      await passTime(2_500)

      first.kill('SIGINT')
      const stopped = await firstEnd
      const second = await ended(start(place.path))

      expect(stopped).toMatchObject({ code: 130, stderr: '' })
      expect(stopped.stdout).toContain('Stopped. Run the same command again: it carries on.')
      expect(second).toMatchObject({ code: 0, stderr: '' })
      expect(second.stdout).toContain('12: 11 shipped, 1 declined')
      expect(second.stdout).toContain('cut off, run again  0')
      expect(second.stdout).toContain('done, not recorded  0')
      expect(second.stdout).toContain('program started       2 times')
    },
  )
})

describe('its screen', () => {
  const done = { what: 'done', activity: 'pack', order: 'order-01', attempt: 1, key: 'k' } as const

  test('on a terminal each order has a line that is written over', () => {
    const screen = new TestScreen(true)
    const progress = showProgress(screen, ORDERS, [], {})

    progress.saw(done)

    expect(screen.text.split('\u001B[12A')).toHaveLength(2)
    expect(screen.text).toContain('waits for the courier')
    expect(screen.text).toContain('\u001B[36m')
  })

  test('NO_COLOR takes the colours away and leaves the lines in place', () => {
    const screen = new TestScreen(true)

    showProgress(screen, ORDERS, [], { NO_COLOR: '1' }).saw(done)

    expect(screen.text).not.toContain('\u001B[36m')
    expect(screen.text).toContain('\u001B[12A')
  })

  test('when piped, or on a small terminal, there is one line for each event', () => {
    for (const screen of [new TestScreen(false), new TestScreen(true, 10)]) {
      showProgress(screen, ORDERS, [], { NO_COLOR: '1' }).saw(done)

      expect(screen.text).toBe('  order-01  waits for the courier\n')
    }
  })
})

test('the summary reports a card that was charged twice', () => {
  const charge = { what: 'charged', order: 'order-01', cents: 1, receipt: 'r' } as const
  const outcome = { kind: 'shipped', receipt: 'r', tracking: 't' } as const

  expect(summarise([outcome], [{ ...charge, key: 'a' }]).good).toBe(true)
  expect(
    summarise(
      [outcome],
      [
        { ...charge, key: 'a' },
        { ...charge, key: 'b' },
      ],
    ).good,
  ).toBe(false)
})

class TestScreen {
  text = ''
  readonly isTTY: boolean
  readonly rows: number

  constructor(isTTY: boolean, rows = 40) {
    this.isTTY = isTTY
    this.rows = rows
  }

  write(text: string): void {
    this.text += text
  }
}

function folder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-orders-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

function start(place: string): ChildProcess {
  return spawn(process.execPath, [MAIN, place], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function ended(run: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  run.stdout!.on('data', (chunk) => (stdout += String(chunk)))
  run.stderr!.on('data', (chunk) => (stderr += String(chunk)))
  const [code] = (await once(run, 'close')) as [number]
  return { code, stdout, stderr }
}

function ledgerOf(place: string): Entry[] {
  return readFileSync(join(place, 'orders.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry)
}
