import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** A fenced block of a page. Its info string is the language and what follows it. */
interface Block {
  readonly page: string
  readonly info: string
  /** Line of the page on which the code starts, from 1. */
  readonly line: number
  readonly code: string
}

/** Paths of all pages that are ours, from the root. */
const PAGES = [
  ...readdirSync(ROOT),
  ...['docs', 'examples'].flatMap((folder) =>
    existsSync(join(ROOT, folder))
      ? readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
          join(folder, path),
        )
      : [],
  ),
].filter((path) => path.endsWith('.md') && !path.includes('node_modules'))

const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the readme', () => {
  test('its first two commands are one line each, and CI runs the second and nothing else', () => {
    const commands = blocks('README.md', read('README.md')).filter(({ info }) => info === 'sh')
    const [main, all] = commands.map(({ code }) => code.trim())

    expect(main).toMatch(/^npm .+$/)
    expect(all).toMatch(/^npm .+$/)
    expect(commandsOf(read('.ci/run'))).toEqual([all])
  })
})

describe('the pages', () => {
  const code = PAGES.flatMap((page) => blocks(page, read(page))).filter(({ info }) =>
    /^ts\b/.test(info),
  )

  test('each block that names a file is an excerpt of it', () => {
    expect(code.filter((block) => fileOf(block) && !isExcerpt(block)).map(place)).toEqual([])
  })

  test('every other block type-checks against the package', () => {
    expect(typeErrors(code.filter((block) => !fileOf(block)))).toEqual([])
  })

  test('each relative link leads to a file, and to a heading if it names one', () => {
    expect(PAGES.flatMap((page) => deadLinks(page, read(page)))).toEqual([])
  })
})

describe('the checks themselves', () => {
  test('they find a block that differs from its file', () => {
    const page = [
      '```ts file=package.json',
      '"engines": {',
      '  "node": ">=20.19"',
      '},',
      '```',
      '```ts file=package.json',
      '"engines": {',
      '  "node": ">=4"',
      '```',
      '```ts file=examples/none.ts',
      'none',
      '```',
    ]
    const found = blocks('page.md', page.join('\n')).map((block) => [
      place(block),
      isExcerpt(block),
    ])

    expect(found).toEqual([
      ['page.md:2 (package.json)', true],
      ['page.md:7 (package.json)', false],
      ['page.md:11 (examples/none.ts)', false],
    ])
  })

  test('they find a block that does not type-check, and let one carry on from the last', () => {
    const page = [
      '```ts',
      `import { sleep } from 'holdfast/workers'`,
      `const nap = sleep('1s')`,
      '```',
      'and then',
      '```ts continues',
      'nap.next satisfies string',
      'nap.nothing',
      '```',
      '```ts',
      'nap',
      '```',
    ]

    expect(typeErrors(blocks('planted.md', page.join('\n')))).toEqual([
      expect.stringMatching(/^planted\.md:8: .*'nothing'/),
      expect.stringMatching(/^planted\.md:11: .*'nap'/),
    ])
  })

  test('they find a link that leads nowhere, outside of code', () => {
    const page =
      '[a](LICENSE) [b](docs/none.md#there "b") [c](#here) [d](https://none) ![e](none.png)\n' +
      '```md\n[f](none.md)\n# Here\n```\n[g]: ./none.txt\n' +
      '## `code()`, and _words_\n[h](#code-and-words) [i](CONTRIBUTING.md#commits) [j](LICENSE#x)'

    expect(deadLinks('README.md', page)).toEqual([
      'README.md -> docs/none.md#there',
      'README.md -> #here',
      'README.md -> none.png',
      'README.md -> ./none.txt',
      'README.md -> LICENSE#x',
    ])
  })
})

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function blocks(page: string, text: string): Block[] {
  return [...text.matchAll(/^( *)```(\w.*)\n([^]*?)^ *```$/gm)].map((match) => ({
    page,
    info: match[2]!.trim(),
    line: text.slice(0, match.index).split('\n').length + 1,
    code: match[3]!,
  }))
}

function place(block: Block): string {
  return `${block.page}:${block.line} (${fileOf(block)})`
}

/** The file a block is taken from: `ts file=examples/hello/main.ts`. */
function fileOf({ info }: Block): string | undefined {
  return /\bfile=(\S+)/.exec(info)?.[1]
}

function isExcerpt(block: Block): boolean {
  const path = join(ROOT, fileOf(block)!)
  if (!existsSync(path)) return false
  const wanted = dedent(block.code.trimEnd().split('\n'))
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.some(
    (_, at) => dedent(lines.slice(at, at + wanted.length)).join('\n') === wanted.join('\n'),
  )
}

function dedent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim()).map((line) => line.search(/\S/))
  return lines.map((line) => line.slice(Math.min(...indents)).trimEnd())
}

/** Compiles each block as a module of its own, or with those before it if it says `continues`. */
function typeErrors(code: readonly Block[]): string[] {
  const modules: Block[][] = []
  for (const block of code) {
    const last = modules.at(-1)
    if (/\bcontinues\b/.test(block.info) && last?.[0]!.page === block.page) last.push(block)
    else modules.push([block])
  }
  if (modules.length === 0) return []
  const pages = modules.map((parts) => parts[0]!.page)
  const work = mkdtempSync(join(folder, 'snippets-'))
  for (const [index, parts] of modules.entries()) {
    // Code keeps the line it has in the page, so that the compiler's messages point there.
    const lines: string[] = []
    for (const { line, code: text } of parts) {
      for (const [offset, content] of text.split('\n').entries()) lines[line - 1 + offset] = content
    }
    writeFileSync(
      join(work, `${index}.ts`),
      `${Array.from(lines, (line) => line ?? '').join('\n')}
export {}
`,
    )
  }
  // Snippets see what this repository sees, and the built package by its name.
  mkdirSync(join(work, 'node_modules'))
  symlinkSync(ROOT, join(work, 'node_modules/holdfast'))
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) {
      symlinkSync(join(ROOT, 'node_modules', name), join(work, 'node_modules', name))
    }
  }
  writeFileSync(join(work, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(work, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
      include: ['*.ts'],
      exclude: [],
    }),
  )
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [compiler, '-p', work, '--pretty', 'false']
  const { status, stdout, error } = spawnSync(process.execPath, args, {
    cwd: work,
    encoding: 'utf8',
  })
  if (error) throw error
  const errors = stdout.split(/\n(?=\S)|\n$/).filter((line) => line !== '')
  if (status !== 0 && errors.length === 0) throw new Error('tsc failed')
  return errors.map((line) =>
    line.replace(
      /^(\d+)\.ts\((\d+),\d+\)/,
      (_, index: string, at: string) => `${pages[+index]}:${at}`,
    ),
  )
}

function deadLinks(page: string, text: string): string[] {
  return [
    ...withoutCode(text)
      .replace(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(\S+)/gm),
  ]
    .map((match) => match[1] ?? match[2]!)
    .filter((link) => !/^[a-z]+:/i.test(link))
    .filter((link) => !leadsSomewhere(page, text, link))
    .map((link) => `${page} -> ${link}`)
}

function leadsSomewhere(page: string, text: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : join(dirname(page), decodeURIComponent(path))
  if (!existsSync(join(ROOT, target))) return false
  return heading === undefined || anchors(target === page ? text : read(target)).includes(heading)
}

/** What the headings of a page are called in links, as GitHub has it. */
function anchors(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/\b_|_\b|[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  )
}

function withoutCode(text: string): string {
  return text.replace(/^ *```[^]*?^ *```$/gm, '')
}

/** What a shell script does, apart from setting itself up. */
function commandsOf(script: string): string[] {
  return script
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(#|set |cd )/.test(line))
}
