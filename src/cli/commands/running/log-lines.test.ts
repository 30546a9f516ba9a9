import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { Terminal } from '../../output/terminal.ts'
import { logLines } from './log-lines.ts'

/** What a log line becomes on stderr. */
function written(
  format: 'text' | 'json',
  data: object,
  isVerbose = false,
): { readonly text: string; readonly json: () => unknown } {
  const stderr = new PassThrough()
  const io = { stdin: new PassThrough(), stdout: new PassThrough(), stderr, env: {}, cwd: '/app' }
  const terminal = new Terminal(io, { noColor: true })
  logLines(terminal, format, 'info', isVerbose).error(data, 'it failed')
  const text = String(stderr.read())
  return { text, json: () => JSON.parse(text) as unknown }
}

/** An error of an activity, as the engine wraps it. */
function failure(): Error {
  const cause = new TypeError('no name')
  cause.stack =
    'TypeError: no name\n    at read (file:///app/node_modules/lib/index.js:1:2)\n' +
    '    at Object.run (file:///app/shop.ts:3:9)'
  const error = new Error('activity "charge" failed', { cause })
  error.stack = `Error: activity "charge" failed\n    at finish (${import.meta.dirname}/x.ts:7:1)`
  return error
}

test('JSON lines have the stack of an error, and of its cause', () => {
  const { json } = written('json', { err: failure(), instanceId: 'a' })

  expect(json()).toMatchObject({
    level: 'error',
    message: 'it failed',
    instanceId: 'a',
    err: {
      name: 'Error',
      message: 'activity "charge" failed',
      stack: expect.stringMatching(
        /x\.ts:7:1.*caused by: TypeError: no name.*shop\.ts:3:9/s,
      ) as string,
    },
  })
})

test('text names the line of the user that threw, and has the stack if it is asked for', () => {
  const short = written('text', { err: failure() })
  const long = written('text', { err: failure() }, true)

  expect(short.text).toMatch(
    /it failed: Error: activity "charge" failed \(\/app\/shop\.ts:3:9\)\n$/,
  )
  expect(long.text).toContain('    at Object.run (file:///app/shop.ts:3:9)')
})

test('lines have no passwords, and JSON stays JSON', () => {
  const url = 'postgres://kim:se cret@host/shop?password=cret'
  const data = { url, port: 'http://h:1', mail: 'a@b' }
  const [text, json] = [written('text', data), written('json', data)]

  expect(text.text).toContain('"http://h:1"')
  expect(json.json()).toMatchObject({ port: 'http://h:1', mail: 'a@b' })
  expect(text.text + json.text).not.toContain('cret')
})
