import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

// Common mistakes, each in a program of its own. The compiler must point at the mistake, marked by
// `/*!*/`, and say something that helps.

const ROOT = join(import.meta.dirname, '../..')
const PREAMBLE = `import {
  activity, channel, connect, failure, message, open, request, stateKey, workflow,
} from 'holdfast'
const greet = activity('greet', async (name: string) => 'hello ' + name)
const hello = workflow('hello', async (name: string, ctx) => ctx.run(greet, name))
const letters = channel<{ by: string }>('letters')
const ask = request<string, number>('ask')
const total = stateKey<number>('total')
const client = connect('memory:')
void [greet, hello, letters, ask, total, client, failure, message, open]
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
    'a child started with the wrong input',
    `workflow('w', async (n: number, ctx) => ctx.run(hello, /*!*/n))`,
    /'number' is not assignable to parameter of type 'string'/,
  ],
  [
    'a child that is to be retried like an activity',
    `workflow('w', async (n: string, ctx) => ctx.run(hello, n, { /*!*/retry: {} }))`,
    /'retry' does not exist in type 'ChildOptions'/,
  ],
  [
    'an activity with the options of a child',
    `workflow('w', async (n: string, ctx) => ctx.run(greet, n, { /*!*/id: 'x' }))`,
    /'id' does not exist in type 'ActivityOptions'/,
  ],
  [
    'a new execution with the wrong input',
    `workflow('w', async (n: number, ctx) => { await ctx.sleep(n); return ctx.continueAsNew(/*!*/'x') })`,
    /'string' is not assignable to parameter of type 'number'/,
  ],
  [
    'a new execution without its input',
    `workflow('w', async (n: number, ctx) => { await ctx.sleep(n); return ctx./*!*/continueAsNew() })`,
    /Expected 1-2 arguments, but got 0/,
  ],
  [
    'a message of the wrong type',
    `void client.get('x').send(letters, { /*!*/bye: 'kim' })`,
    /'bye' does not exist in type '\{ by: string; \}'/,
  ],
  [
    'a message where a request is meant',
    `void client.get('x').send(/*!*/ask, 'why')`,
    /'RequestChannel<string, number>' is not assignable to parameter of type 'Channel</,
  ],
  [
    'a request where a message is meant',
    `void client.get('x').request(/*!*/letters, { by: 'kim' })`,
    /'Channel<.*>' is not assignable to parameter of type 'RequestChannel</,
  ],
  [
    'a channel by its name only',
    `workflow('w', async (n: number, ctx) => { await ctx.receive(/*!*/'letters'); return n })`,
    /'string' is not assignable to parameter of type 'AnyInbound'/,
  ],
  [
    'a message that may not have come',
    `workflow('w', async (_, ctx) => { const got = await ctx.receive(letters, { timeout: '1s' }); return /*!*/got.by })`,
    /'got' is possibly 'undefined'/,
  ],
  [
    'an answer of the wrong type',
    `workflow('w', async (_, ctx) => { const asked = await ctx.receive(ask); asked.reply(/*!*/asked.input) })`,
    /'string' is not assignable to parameter of type 'number'/,
  ],
  [
    'a start with a message of the wrong type',
    `void client.start(hello, 'Kim', { send: message(letters, { /*!*/by: 7 }) })`,
    /'number' is not assignable to type 'string'/,
  ],
  [
    'state of the wrong type',
    `workflow('w', async (n: string, ctx) => { ctx.state.set(total, /*!*/n) })`,
    /'string' is not assignable to parameter of type 'number'/,
  ],
  [
    'a race of a promise that cannot be cancelled',
    `workflow('w', async (_, ctx) => ctx.race({ /*!*/x: Promise.resolve(1) }))`,
    /'Promise<number>' is not assignable to type 'Branch'/,
  ],
  [
    'a race whose branches have no names',
    `workflow('w', async (_, ctx) => ctx.race(/*!*/[ctx.sleep(1)]))`,
    /not assignable to parameter of type 'Readonly<Record<string, Branch>>'/,
  ],
  [
    'the value of a branch that may not have won',
    `workflow('w', async (_, ctx) => { const first = await ctx.race({ a: ctx.receive(letters), b: ctx.sleep(1) }); return first.value./*!*/by })`,
    /Property 'by' does not exist on type '.*void/,
  ],
  [
    'labels that are no text',
    `void client.start(hello, 'Kim', { labels: { /*!*/customer: 7 } })`,
    /'number' is not assignable to type 'string'/,
  ],
  [
    'a way to meet a taken id that does not exist',
    `void client.start(hello, 'Kim', { /*!*/onConflict: 'ignore' })`,
    /'"ignore"' is not assignable to type '.*"restart"/,
  ],
  [
    'a schema for a result of another type',
    `import type { Schema } from 'holdfast'; declare const text: Schema<string>; workflow('w', { /*!*/output: text }, async () => 1)`,
    /'Schema<string, string>' is not assignable to type 'Schema<number, unknown>'/,
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
