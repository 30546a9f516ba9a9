import { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { recordLines, tableLines } from './table.ts'
import { Terminal } from './terminal.ts'

const out = new Writable({ write: (_, __, done) => done() })
const terminal = new Terminal(
  { stdin: Readable.from([]), stdout: out, stderr: out, env: {}, cwd: '.' },
  { noColor: true },
)

test('a table is as wide as its widest row, however many rows it has', () => {
  const items = Array.from({ length: 300_000 }, (_, i) => (i === 7 ? 'wide-one' : `${i}`))

  const lines = tableLines(terminal, items, [
    { title: 'ID', value: (item) => item },
    { title: 'END', value: () => '.' },
  ])

  expect(lines).toHaveLength(300_001)
  expect(lines.slice(0, 2)).toEqual(['ID        END', '0         .'])
})

test('a record may have any number of lines', () => {
  const record = Array.from({ length: 300_000 }, (_, i) => [`name-${i}`, 'x'] as const)

  expect(recordLines(terminal, record)[0]).toBe('name-0       x')
})
