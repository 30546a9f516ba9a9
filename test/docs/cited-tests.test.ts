import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

// A page cites a test by its file and the beginning of its title: `x.test.ts`: one title · another
// title. An ellipsis stands for values that `test.each` fills in.

const ROOT = join(import.meta.dirname, '../..')

interface Citation {
  readonly page: string
  readonly file: string
  readonly title: string
}

describe('tests that pages cite', () => {
  const pages = tracked('docs').filter((path) => path.endsWith('.md'))
  const tests = tracked('src', 'test', 'examples').filter((path) => path.endsWith('.test.ts'))
  const texts = new Map(tests.map((path) => [path, read(path)]))

  test('have these titles', () => {
    const cited = pages.flatMap((page) => citations(page, read(page)))
    const missing = cited.filter(({ file, title }) => {
      const files = [...texts].filter(([path]) => path === file || path.endsWith(`/${file}`))
      return !files.some(([, text]) => has(text, title))
    })

    expect(cited.length).toBeGreaterThan(30)
    expect(missing).toEqual([])
  })
})

describe('the search', () => {
  test('finds each title of a file, up to the next file or cell', () => {
    const row = '| a gap | `a.test.ts`: one · two …; `b.test.ts`: three · `c.test.ts` | `d` |'

    const found = citations('page.md', row).map(({ file, title }) => `${file} ${title}`)

    expect(found).toEqual(['a.test.ts one', 'a.test.ts two …', 'b.test.ts three'])
  })

  test('compares titles up to the values that a test fills in', () => {
    expect(has("test.each([1, 2])('waits %d ms at most', …)", 'waits … ms')).toBe(true)
    expect(has("test.each([1, 2])('waits %d ms at most', …)", 'waits … seconds')).toBe(false)
    expect(has("const text = 'a title'\n// waits for long", 'waits for long')).toBe(false)
  })
})

function citations(page: string, text: string): Citation[] {
  return [
    ...text.matchAll(/`([\w./-]+\.test\.ts)`: ((?:(?!`[\w./-]+\.test\.ts`)[^|\n])+)/g),
  ].flatMap(([, file, titles]) =>
    titles!
      .split('·')
      .map((title) => title.trim().replace(/[;,.]$/, ''))
      .filter((title) => title !== '')
      .map((title) => ({ page, file: file!, title })),
  )
}

/** Whether a text has a string that begins with these words. */
function has(text: string, title: string): boolean {
  const words = title.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`['"\`]${words.join('.*?')}`).test(text)
}

function tracked(...places: string[]): string[] {
  return execFileSync('git', ['ls-files', ...places], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '')
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
