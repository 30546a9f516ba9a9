import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

test('the soak still runs: one round, which finds nothing', { timeout: 120_000 }, async () => {
  const args = ['--import', 'tsx', 'test/e2e/soak.ts', '--store', 'sqlite', '--rounds', '1']

  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: ROOT })

  expect(stderr).toBe('')
  expect(stdout).toMatch(/^sqlite, seed \d+: .* 0 findings\n$/)
})
