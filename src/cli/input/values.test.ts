import { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { UsageError } from '../errors/cli-error.ts'
import type { Io } from '../output/terminal.ts'
import { idsFrom, labelValues } from './values.ts'

function ioWith(input: string): Io {
  const out = new Writable({ write: (_, __, done) => done() })
  return { stdin: Readable.from([input]), stdout: out, stderr: out, env: {}, cwd: '.' }
}

test('labels are pairs, in which the value may contain the sign', () => {
  expect(labelValues(['a=1', 'b=x=y', 'a=1'])).toEqual({ a: '1', b: 'x=y' })
  expect(labelValues([])).toBeUndefined()
})

test.each([
  [['a'], '--label must be <name>=<value>, got "a"'],
  [['=1'], '--label must be <name>=<value>, got "=1"'],
  [['a=1', 'a=2'], '--label a has two values, "1" and "2"; give one'],
])('labels %j are refused', (texts, message) => {
  expect(() => labelValues(texts)).toThrow(new UsageError(message))
})

test('ids of standard input are read once each, however many there are', async () => {
  const lines = Array.from({ length: 300_000 }, (_, i) => `id-${i}`)
  const io = ioWith(`${lines.join('\r\n')}\n\nid-7\n`)

  const ids = await idsFrom(['first', '-', 'id-8'], io)

  expect(ids).toHaveLength(300_001)
  expect(ids.slice(0, 3)).toEqual(['first', 'id-0', 'id-1'])
})
