import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

test.concurrent.each([
  ['processes are killed', ['--store', 'sqlite'], /^sqlite, seed \d+: .* 0 findings\n$/],
  [
    'four processes are killed and their server is stopped and started again',
    ['--restarts', '100'],
    /^postgres, seed \d+: .* 1 restarts, 1\d\d instances, .* 0 findings\n$/,
  ],
])('a round in which %s finds nothing', { timeout: 180_000 }, async (_, options, said) => {
  const args = ['--import', 'tsx', 'test/e2e/soak.ts', '--rounds', '1', ...options]

  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
  }).catch((error: { stdout: string; stderr: string }) => error)

  expect(stderr).toBe('')
  expect(stdout).toMatch(said)
})
