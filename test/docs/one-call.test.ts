import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/internals/one-call.md'

/** A line of the page: a file, and functions of it. */
interface Hop {
  readonly path: string
  readonly link: string
  readonly functions: readonly string[]
}

const page = readFileSync(join(ROOT, PAGE), 'utf8')

describe('the walk of one call', () => {
  test('names only files that exist, by links that lead there', () => {
    const wrong = hopsOf(page).filter(
      ({ path, link }) => !existsSync(join(ROOT, path)) || link !== `../../${path}`,
    )

    expect(wrong).toEqual([])
  })

  test('names only functions that their files define', () => {
    const unknown = hopsOf(page).flatMap(({ path, functions }) => {
      const source = readFileSync(join(ROOT, path), 'utf8')
      return functions.filter((name) => !defines(source, name)).map((name) => `${path}: ${name}`)
    })

    expect(unknown).toEqual([])
  })

  test('counts its functions and files', () => {
    const all = hopsOf(page)
    const count = (store: 'sqlite' | 'postgres'): string => {
      const hops = all.filter(({ path }) => !path.startsWith(`src/${OTHER[store]}/`))
      const functions = hops.flatMap(({ path, functions: names }) => names.map((n) => path + n))
      const engine = functions.filter((name) => name.startsWith('src/engine/'))
      const files = new Set(hops.map(({ path }) => path))
      return `${engine.length} functions of the engine, ${functions.length} in all, in ${files.size} files`
    }

    expect(page).toContain(`On SQLite: ${count('sqlite')}.`)
    expect(page).toContain(`On PostgreSQL: ${count('postgres')}.`)
  })
})

describe('the search', () => {
  test('finds methods and functions of any kind, and no mere calls', () => {
    const source = [
      'export async function start(',
      'function* takeTurn(',
      '  async #run(workflow: unknown) {',
      '  *advance(): Pausing<void> {',
      '    async commit(batch) {',
      'create or replace function commit_batch(',
      '    this.flush()',
      '    return send(core, {',
      '    wake()',
      '    each(() => {',
    ].join('\n')
    const names = [
      'start',
      'takeTurn',
      '#run',
      'advance',
      'commit',
      'commit_batch',
      'flush',
      'send',
    ]

    expect(names.filter((name) => defines(source, name))).toEqual(names.slice(0, 6))
  })
})

const OTHER = { sqlite: 'postgres', postgres: 'sqlite' } as const

function hopsOf(text: string): Hop[] {
  return [...text.matchAll(/^- \[`([^`]+)`\]\(([^)]+)\): ((?:`[^`]+`(?:, )?)+)/gm)].map(
    (match) => ({
      path: match[1]!,
      link: match[2]!,
      functions: [...match[3]!.matchAll(/`([^`]+)`/g)].map((name) => name[1]!),
    }),
  )
}

/** Whether a source defines a function or a method of this name. */
function defines(source: string, name: string): boolean {
  const definition = new RegExp(
    `\\bfunction\\*? ${name}\\b|^\\s+(?:async |static |\\*)*${name}(?:<[^>]*>)?\\((?:.*[({])?$`,
  )
  return source.split('\n').some((line) => !line.endsWith('=> {') && definition.test(line))
}
