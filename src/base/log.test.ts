import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { childLog, defaultLog, type Logger, logger, silentLog } from './log.ts'

type Line = Record<string, unknown>

/** A pino logger that writes into a list. */
function openPino(): { log: pino.Logger; lines: Line[] } {
  const lines: Line[] = []
  const log = pino(
    { level: 'debug', base: null, timestamp: false },
    { write: (line) => lines.push(JSON.parse(line) as Line) },
  )
  return { log, lines }
}

/** Runs a script in a process of its own, with `log` at hand; the lines it wrote to stderr. */
async function linesOfChild(script: string): Promise<string[]> {
  const path = fileURLToPath(new URL('./log.ts', import.meta.url))
  const source = `import { defaultLog as log, childLog } from ${JSON.stringify(path)}\n${script}`
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', source],
    { timeout: 15_000, cwd: fileURLToPath(new URL('.', import.meta.url)) },
  )
  expect(stdout).toBe('')
  expect(stderr === '' || stderr.endsWith('\n')).toBe(true)
  return stderr.split('\n').slice(0, -1)
}

describe('a pino logger', () => {
  test('is a Logger as it is', () => {
    const { log, lines } = openPino()
    const fits: Logger = log

    fits.debug({ worker: 'a' }, 'one')
    fits.info({ worker: 'b' }, 'two')
    fits.warn({ worker: 'c' }, 'three')
    fits.error({ worker: 'd' })

    expectTypeOf<pino.Logger>().toExtend<Logger>()
    expect(logger(log, 'worker: log')).toBe(log)
    expect(lines).toEqual([
      { level: 20, worker: 'a', msg: 'one' },
      { level: 30, worker: 'b', msg: 'two' },
      { level: 40, worker: 'c', msg: 'three' },
      { level: 50, worker: 'd' },
    ])
  })

  test('receives the bindings of a child log with every line', () => {
    const { log, lines } = openPino()
    const child = childLog(childLog(log, { worker: 'a', try: 1 }), { pass: 7 })

    child.debug({}, 'one')
    child.info({ rows: 3 }, 'two')
    child.warn({ try: 2 }, 'three')
    child.error({ err: new Error('no') }, 'four')

    expect(lines.map(({ err, ...line }) => ({ ...line, failed: err !== undefined }))).toEqual([
      { level: 20, worker: 'a', try: 1, pass: 7, msg: 'one', failed: false },
      { level: 30, worker: 'a', try: 1, pass: 7, rows: 3, msg: 'two', failed: false },
      { level: 40, worker: 'a', try: 2, pass: 7, msg: 'three', failed: false },
      { level: 50, worker: 'a', try: 1, pass: 7, msg: 'four', failed: true },
    ])
  })
})

test('pino receives an error that is the data of a child log as its error', () => {
  const { log, lines } = openPino()

  childLog(log, { worker: 'a' }).error(new TypeError('no'), 'failed')

  expect(lines).toMatchObject([{ worker: 'a', err: { type: 'TypeError', message: 'no' } }])
})

describe('a value given as logger', () => {
  test.each([silentLog, defaultLog, console, childLog(silentLog, {})])(
    'is taken when it has the four methods',
    (value) => {
      expect(logger(value, 'worker: log')).toBe(value)
    },
  )

  test('is refused when it lacks one, by that name', () => {
    const { warn: _, ...lacking } = silentLog

    expect(() => logger(lacking, 'worker: log')).toThrow(
      new TypeError('worker: log must be a logger, but it has no method warn()'),
    )
    expect(() => logger('stdout', 'worker: log')).toThrow(
      new TypeError('worker: log must be a logger, got "stdout"'),
    )
  })
})

describe('a child log', () => {
  test('changes neither its bindings nor the data', () => {
    const { log } = openPino()
    const bindings = Object.freeze({ worker: 'a' })
    const data = Object.freeze({ rows: 3 })

    childLog(log, bindings).info(data, 'one')

    expect([bindings, data]).toEqual([{ worker: 'a' }, { rows: 3 }])
  })

  test.each<[string, () => void]>([
    ['rejects', () => Promise.reject(new Error('disk full'))],
    [
      'throws',
      () => {
        throw new Error('disk full')
      },
    ],
  ])('of a logger that %s does not reach its caller', async (_, write) => {
    const rejections: unknown[] = []
    const onRejection = (reason: unknown): void => void rejections.push(reason)
    process.on('unhandledRejection', onRejection)
    const child = childLog({ debug: write, info: write, warn: write, error: write }, {})

    for (const level of ['debug', 'info', 'warn', 'error'] as const) child[level]({})
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onRejection)

    expect(rejections).toEqual([])
  })

  test('keeps the logger that a method belongs to', () => {
    class Counting implements Logger {
      lines = 0
      debug(): void {
        this.lines++
      }
      info(): void {
        this.lines++
      }
      warn(): void {
        this.lines++
      }
      error(): void {
        this.lines++
      }
    }
    const counting = new Counting()
    const child = childLog(counting, {})

    for (const level of ['debug', 'info', 'warn', 'error'] as const) child[level]({})

    expect(counting.lines).toBe(4)
  })
})

describe('the default log', () => {
  test('writes warnings and errors to stderr and nothing else', async () => {
    const lines = await linesOfChild(`
      log.debug({ a: 1 }, 'one')
      log.info({ a: 1 }, 'two')
      log.warn({ a: 1, b: 'x y' }, 'three')
      childLog(log, { worker: 'w' }).error({ err: new Error('no') }, 'four')
      log.error({})
    `)

    const [warned, failed, empty] = lines.map((line) =>
      line.slice('2030-01-01T00:00:00.000Z '.length),
    )
    expect(lines).toHaveLength(3)
    for (const line of lines)
      expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z holdfast /)
    expect(warned).toBe('holdfast warn: three a=1 b="x y"')
    expect(failed).toMatch(/^holdfast error: four worker="w" err="Error: no\\n {4}at /)
    expect(empty).toBe('holdfast error: ')
  })

  test('shows an error that is given as the data, also through a child', async () => {
    const lines = await linesOfChild(`
      log.error(new TypeError('no'), 'one')
      childLog(log, { worker: 'w' }).warn(new TypeError('no'))
    `)

    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/ error: one err="TypeError: no\\n {4}at /)
    expect(lines[1]).toMatch(/ warn: {2}worker="w" err="TypeError: no\\n {4}at /)
  })

  test('leaves its own lines and those of Node out of a stack that has others', async () => {
    const lines = await linesOfChild(`
      const own = '    at g (file://' + process.cwd() + '/x.ts:1:1)'
      const node = '    at node:internal/process:1:1'
      const err = new Error('no')
      err.stack = ['Error: no', '    at f (/app/main.js:1:1)', own, node].join('\\n')
      log.error({ err })
      err.stack = ['Error: no', own, node].join('\\n')
      log.error({ err })
    `)

    const [others, none] = lines.map((line) => line.slice(line.indexOf('err=')))
    expect(others).toBe(String.raw`err="Error: no\n    at f (/app/main.js:1:1)"`)
    expect(none).toMatch(/at g \(.*at node:internal/)
  })

  test('shows the stack of a cause when that of the error has no line of the user', async () => {
    const lines = await linesOfChild(`
      const own = '    at g (file://' + process.cwd() + '/x.ts:1:1)'
      const cause = new TypeError('why')
      cause.stack = ['TypeError: why', '    at f (/app/main.js:1:1)', own].join('\\n')
      const middle = new Error('so', { cause })
      middle.stack = ['Error: so', own].join('\\n')
      const err = new Error('no', { cause: middle })
      err.stack = ['Error: no', own].join('\\n')
      log.error({ err })
      cause.stack = ['TypeError: why', own].join('\\n')
      cause.cause = err
      log.error({ err })
    `)

    const [users, none] = lines.map((line) => line.slice(line.indexOf('err=')))
    expect(users).toBe(
      String.raw`err="Error: no\ncaused by: Error: so\ncaused by: TypeError: why\n    at f (/app/main.js:1:1)"`,
    )
    expect(none).toMatch(/^err="Error: no\\n    at g \(/)
  })

  test('writes one line for anything and never throws', async () => {
    const lines = await linesOfChild(`
      const cyclic = {}
      cyclic.self = cyclic
      const hostile = { get secret() { throw new Error('do not look') } }
      const values = {
        cyclic, hostile, big: 12n, symbol: Symbol('s'), missing: undefined, nothing: null,
        text: 'two\\nlines', source: function () {\n        return 1\n      },
        noStack: Object.assign(new Error('no'), { stack: undefined }),
        map: new Map(), bare: Object.create(null), toJSON: { toJSON() { throw new Error('no') } },
      }
      for (const [key, value] of Object.entries(values)) log.warn({ [key]: value }, 'value')
      for (const data of [hostile, null, undefined, 5, 'text', [1, 2]]) log.warn(data, 'data')
      log.warn({ 'two\\nlines': 1 }, 'first\\r\\nsecond')
    `)

    const said = lines.map((line) => line.replace(/^\S+ holdfast warn: /, ''))
    expect(said).toEqual([
      'value cyclic=(cannot be shown)',
      'value hostile=(cannot be shown)',
      'value big=(cannot be shown)',
      'value symbol=Symbol(s)',
      'value missing=undefined',
      'value nothing=null',
      'value text="two\\nlines"',
      String.raw`value source=function () {\n        return 1\n      }`,
      'value noStack="Error: no"',
      'value map={}',
      'value bare={}',
      'value toJSON=(cannot be shown)',
      'data (data cannot be shown)',
      'data (data cannot be shown)',
      'data (data cannot be shown)',
      'data',
      'data 0="t" 1="e" 2="x" 3="t"',
      'data 0=1 1=2',
      String.raw`first\r\nsecond two\nlines=1`,
    ])
  })
})
