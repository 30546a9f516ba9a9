import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

const folder = mkdtempSync(join(tmpdir(), 'holdfast-lint-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SEND =
  'export const send = (item: string): Promise<void> => Promise.reject(new Error(item))\n'

test.each([
  ['a promise that is not awaited', `send('a')\n`, 'typescript(no-floating-promises)'],
  [
    'a promise in a place where it is ignored',
    `setTimeout(async () => send('a'), 1)\n`,
    'typescript(no-misused-promises)',
  ],
  [
    'a promise taken for a truth',
    `if (send('a')) process.exitCode = 1\n`,
    'typescript(no-misused-promises)',
  ],
  ['a line for the console', `console.log(await send('a'))\n`, 'eslint(no-console)'],
])('the linter finds %s', (_, code, rule) => {
  expect(lint(SEND + code)).toEqual([rule])
})

test('the linter lets pass a promise that is awaited', () => {
  expect(lint(`${SEND}await send('a')\n`)).toEqual([])
})

/** The rules that a file breaks, under this repository's settings. */
function lint(source: string): string[] {
  writeFileSync(join(folder, 'planted.ts'), source)
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: ['planted.ts'],
      exclude: [],
    }),
  )
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint')
  const settings = ['--type-aware', '--format', 'json', '--config', join(ROOT, '.oxlintrc.json')]
  const { stdout, stderr, error } = spawnSync(process.execPath, [oxlint, ...settings, folder], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  if (error) throw error
  const start = stdout.indexOf('{')
  if (start < 0) throw new Error(`oxlint printed no report\n${stdout}${stderr}`)
  const report: { diagnostics: { code: string }[] } = JSON.parse(stdout.slice(start))
  return report.diagnostics.map(({ code }) => code)
}
