import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

// Common mistakes, each in a program of its own. The compiler must point at the mistake, marked by
// `/*!*/`, and say something that helps.

const ROOT = join(import.meta.dirname, '../..')
const PREAMBLE = `import { activity, connect, failure, open, workflow } from 'holdfast'
const greet = activity('greet', async (name: string) => 'hello ' + name)
const hello = workflow('hello', async (name: string, ctx) => ctx.run(greet, name))
const client = connect('memory:')
void [greet, hello, client, failure, open]
`

const MISTAKES: readonly [name: string, code: string, message: RegExp][] = [
  [
    'a workflow started without its input',
    `void client./*!*/start(hello)`,
    /Expected 2-3 arguments, but got 1/,
  ],
  [
    'a workflow started with the wrong input',
    `void client.start(hello, /*!*/42)`,
    /'number' is not assignable to parameter of type 'string'/,
  ],
  [
    'an option with a typing error',
    `void client.start(hello, 'Kim', { /*!*/idd: 'x' })`,
    /'idd' does not exist in type 'StartOptions'/,
  ],
  [
    'an activity called with the wrong input',
    `workflow('w', async (n: number, ctx) => ctx.run(greet, /*!*/n))`,
    /'number' is not assignable to parameter of type 'string'/,
  ],
  [
    'an activity called without its input',
    `workflow('w', async (n: number, ctx) => { await ctx./*!*/run(greet); return n })`,
    /Expected 2-3 arguments, but got 1/,
  ],
  [
    'a workflow whose input parameter was forgotten',
    `workflow('w', async (ctx) => /*!*/ctx.sleep(1))`,
    /'ctx' is of type 'unknown'/,
  ],
  [
    'a workflow that is not async',
    `workflow('w', /*!*/(n: number) => n)`,
    /'number' is not assignable to type 'Promise<unknown>'/,
  ],
  [
    'a result of the wrong type',
    `export const length = async () => { const /*!*/n: number = await client.run(hello, 'x'); return n }`,
    /'string' is not assignable to type 'number'/,
  ],
  [
    'a duration in no known unit',
    `workflow('w', async (n: string, ctx) => { await ctx.sleep(/*!*/'5 minutes'); return n })`,
    /'"5 minutes"' is not assignable to parameter of type 'Duration'/,
  ],
  [
    'a retry with an unknown backoff',
    `activity('a', { retry: { /*!*/backoff: 'double' } }, async () => 1)`,
    /'"double"' is not assignable to type/,
  ],
  [
    'a runtime without anything registered',
    `void open('memory:', /*!*/{})`,
    /Property 'register' is missing|not assignable to parameter of type 'OpenOptions'/,
  ],
  [
    'a failure without its details',
    `const Bad = failure<{ code: number }>('Bad'); throw /*!*/new Bad('x')`,
    /Expected 2 arguments, but got 1/,
  ],
]

const folder = mkdtempSync(join(tmpdir(), 'holdfast-mistakes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a mistake is shown where it is made', () => {
  const errors = compile(MISTAKES.map(([, code]) => PREAMBLE + code))

  test.each(MISTAKES.map(([name], index) => [name, index] as const))('%s', (_, index) => {
    const [, code, message] = MISTAKES[index]!
    const [first, ...others] = errors.get(index) ?? []

    expect(others).toEqual([])
    expect(first).toBeDefined()
    expect(first!.message).toMatch(message)
    const column = code.indexOf('/*!*/') + '/*!*/'.length + 1
    expect({ line: first!.line, column: first!.column }).toEqual({
      line: PREAMBLE.split('\n').length,
      column,
    })
  })
})

interface Mistake {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** The compiler's errors by program. */
function compile(programs: readonly string[]): Map<number, Mistake[]> {
  for (const [index, code] of programs.entries()) {
    writeFileSync(join(folder, `${index}.ts`), `${code}\nexport {}\n`)
  }
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/holdfast'))
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
      include: ['*.ts'],
      exclude: [],
    }),
  )
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [compiler, '-p', folder, '--pretty', 'false']
  const { stdout, error } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  if (error) throw error
  const found = new Map<number, Mistake[]>()
  for (const text of stdout.split(/\n(?=\S)/)) {
    const match = /^(\d+)\.ts\((\d+),(\d+)\): error TS\d+: ([^]*)$/.exec(text)
    if (match === null) continue
    const [, index, line, column, message] = match
    const list = found.get(Number(index)) ?? []
    list.push({ line: Number(line), column: Number(column), message: message! })
    found.set(Number(index), list)
  }
  return found
}
