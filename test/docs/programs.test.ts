// Programs of the guide that need nothing but the embedded store are run, each in a process and a
// folder of its own. Blocks that are parts of something, that serve until they are stopped, or that
// need a server are type-checked only.

import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { toJavaScript } from '../support/write-program.ts'

const ROOT = join(import.meta.dirname, '../..')
const GUIDE = join(ROOT, 'docs/guide')
const LIMIT_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'holdfast-programs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The text between a fence that says `ts` and nothing else, and its end. */
const PROGRAMS = readdirSync(GUIDE)
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) => {
    const text = readFileSync(join(GUIDE, page), 'utf8')
    return Array.from(text.matchAll(/^```ts\n([^]*?)^```$/gm), ({ index, 1: code }) => ({
      name: `${page}:${text.slice(0, index).split('\n').length + 1}`,
      code: code!,
    }))
  })
  .filter(
    ({ code }) =>
      /^await using \w+ = await open\('memory:'/m.test(code) || code.includes(`from 'node:test'`),
  )

test('the guide has programs', () => {
  expect(PROGRAMS.length).toBeGreaterThan(5)
})

test.each(PROGRAMS)('$name runs to its end', { timeout: LIMIT_MS }, async ({ code }) => {
  const own = mkdtempSync(join(folder, 'program-'))
  mkdirSync(join(own, 'node_modules'))
  // As it was built.
  symlinkSync(ROOT, join(own, 'node_modules/holdfast'))
  symlinkSync(join(ROOT, 'node_modules/@opentelemetry'), join(own, 'node_modules/@opentelemetry'))
  writeFileSync(join(own, 'main.mjs'), toJavaScript(code))

  const ended = promisify(execFile)(process.execPath, ['main.mjs'], { cwd: own, timeout: LIMIT_MS })

  await expect(ended).resolves.toBeDefined()
})
