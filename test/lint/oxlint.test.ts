import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import plugin from '../../src/eslint/index.ts'
import { INVALID, type LintCase, TYPED, VALID } from './cases.ts'

const ROOT = join(import.meta.dirname, '../..')
const CASES: readonly LintCase[] = [...INVALID, ...VALID, ...TYPED]

vi.setConfig({ hookTimeout: 60_000 })

/** What oxlint finds in each case, linted all at once. */
let found: Map<number, string[]>

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-oxlint-'))
  try {
    buildSync({
      entryPoints: [join(ROOT, 'src/eslint/index.ts')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: join(folder, 'plugin.mjs'),
    })
    const rules = Object.keys(plugin.rules).map((name) => [`holdfast/${name}`, 'error'])
    const config = {
      plugins: [],
      categories: { correctness: 'off' },
      jsPlugins: ['./plugin.mjs'],
      rules: Object.fromEntries(rules) as object,
    }
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(config))
    for (const [i, { code }] of CASES.entries()) writeFileSync(join(folder, `case-${i}.ts`), code)
    found = run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

interface Diagnostic {
  readonly message: string
  readonly code: string
  readonly filename: string
  readonly labels: readonly { readonly span: { readonly offset: number } }[]
}

function run(cwd: string): Map<number, string[]> {
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint')
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '--format', 'json', '.'], {
    cwd,
    encoding: 'utf8',
  })
  if (!stdout.includes('{')) throw new Error(`oxlint printed no report\n${stdout}${stderr}`)
  const { diagnostics } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
    diagnostics: Diagnostic[]
  }
  const byCase = new Map<number, string[]>()
  const offset = ({ labels: [label] }: Diagnostic): number => label?.span.offset ?? 0
  for (const one of diagnostics.toSorted((a, b) => offset(a) - offset(b))) {
    const index = Number(/case-(\d+)/.exec(one.filename)?.[1])
    const rule = one.code.replace(/^holdfast\((.*)\)$/, '$1')
    byCase.set(index, [...(byCase.get(index) ?? []), `${rule}: ${one.message}`])
  }
  return byCase
}

describe('under oxlint', () => {
  test.each(CASES.map((one, index) => ({ ...one, index })))('$title', ({ index, finds }) => {
    const expected = finds.map((start) => expect.stringContaining(start))

    expect(found.get(index) ?? []).toEqual(expected)
  })
})
