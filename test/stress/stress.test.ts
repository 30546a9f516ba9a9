import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as passTime } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

import { postgresUrl } from '../support/postgres.ts'
import { keepRunning, runAtOnce } from './load.ts'
import { judge, type Outcome, stretch } from './outcome.ts'
import { SCENARIOS } from './play.ts'

const MAIN = join(import.meta.dirname, 'main.ts')

const OTHER = join(import.meta.dirname, 'stores/other.ts')
const FORGETFUL = join(import.meta.dirname, 'stores/forgetful.ts')

// Each is a process of its own.
test.concurrent(
  'all scenarios are played on all stores, and hold [test_stress_infrastructure_minimal] [test_large_payload_stress_infrastructure]',
  { timeout: 120_000 },
  async () => {
    const { stdout } = await stress('--smoke', '--long', '--store', 'memory,file,postgres')

    const tables = stdout.split(/\n(?=\S+, Node )/).slice(1)
    expect(tables).toHaveLength(3)
    for (const table of tables) {
      for (const { name } of SCENARIOS) expect(table).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
    }
    expect(stdout).not.toMatch(/MISSED|NaN/)
  },
)

test.concurrent('a store can be brought by the path of a module', { timeout: 60_000 }, async () => {
  const { stdout } = await stress('light', '--smoke', '--store', OTHER)

  expect(stdout).toContain(`${OTHER}, Node `)
  expect(stdout).toMatch(/^  light .*met$/m)
})

test.concurrent('a name that is no scenario is refused with those there are', async () => {
  await expect(stress('paralel')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no "paralel"; there are parallel, light'),
  })
})

test.concurrent(
  'a store that loses something makes it exit with 1',
  { timeout: 60_000 },
  async () => {
    await expect(stress('state', '--smoke', '--store', FORGETFUL)).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('MISSED'),
    })
  },
)

describe('an outcome', () => {
  const OUTCOME: Outcome = {
    started: 4,
    failures: [],
    seconds: 2,
    tookMs: [1, 2, 3, 4],
    endedMs: [100, 500, 1_100, 1_900],
    activities: 8,
  }

  test('passes when all completed, fast enough, with the right number of activities', () => {
    expect(judge(OUTCOME, { leastPerSecond: 2, activities: 8 })).toEqual([])
  })

  test.each<[string, Partial<Outcome>, string]>([
    ['one is missing', { tookMs: [1, 2, 3] }, '3 of 4 completed, wanted 100 %'],
    ['nothing was done', { started: 0, tookMs: [] }, 'nothing was started'],
    ['it says why', { failures: ['TimeoutError: late'] }, 'TimeoutError: late'],
    ['it was slow', { seconds: 4 }, '1.0 instances/s, wanted at least 2.0'],
    ['an activity ran twice', { activities: 9 }, '9 activities ran, wanted exactly 8'],
  ])('is not when %s', (_, changed, finding) => {
    const findings = judge({ ...OUTCOME, ...changed }, { leastPerSecond: 2, activities: 8 })

    expect(findings).toContain(finding)
  })

  test('can be cut into stretches of time', () => {
    expect(stretch(OUTCOME, 0, 0.5)).toMatchObject({ started: 2, seconds: 1, tookMs: [1, 2] })
    expect(stretch(OUTCOME, 0.5, 1)).toMatchObject({ started: 2, seconds: 1, tookMs: [3, 4] })
  })
})

describe('a load', () => {
  test('times each instance by itself', async () => {
    const { tookMs, started } = await runAtOnce(2, async (number) => {
      if (number === 1) await passTime(300)
    })

    expect(started).toBe(2)
    const [shorter, longer] = tookMs.toSorted((a, b) => a - b) as [number, number]
    expect(longer).toBeGreaterThan(290)
    // It waited for nothing, least of all for the other.
    expect(shorter).toBeLessThan(longer / 2)
  })

  test('counts what fails, and gives up when everything does', async () => {
    const outcome = await keepRunning({ concurrent: 10, ms: 60_000 }, async () => {
      throw new TypeError('no')
    })

    expect(outcome.tookMs).toEqual([])
    expect(outcome.failures.length).toBeGreaterThanOrEqual(100)
    expect(outcome.failures[0]).toBe('TypeError: no')
    expect(outcome.started).toBe(outcome.failures.length)
  })
})

function stress(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const tsx = fileURLToPath(import.meta.resolve('tsx/cli'))
  const env = { ...process.env, HOLDFAST_STRESS_PG_URL: postgresUrl() }
  return promisify(execFile)(process.execPath, [tsx, MAIN, ...args], { env })
}
