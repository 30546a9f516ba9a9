import { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { type ListView, printPages } from './print.ts'
import { Terminal } from './terminal.ts'

const VIEW: ListView<number> = {
  columns: [{ title: 'N', value: String }],
  id: String,
  none: 'nothing',
}

function recorded(): { readonly terminal: Terminal; readonly lines: string[] } {
  const lines: string[] = []
  const out = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk).trimEnd())
      done()
    },
  })
  const io = { stdin: Readable.from([]), stdout: out, stderr: out, env: {}, cwd: '.' }
  return { terminal: new Terminal(io, { noColor: true }), lines }
}

test('ids are printed before the next page is read', async () => {
  const { terminal, lines } = recorded()
  const printed: number[] = []
  async function* pages() {
    yield [1, 2]
    printed.push(lines.length)
    yield [3]
    printed.push(lines.length)
  }

  const count = await printPages(terminal, 'ids', pages(), VIEW)

  expect(count).toBe(3)
  expect(printed).toEqual([2, 3])
  expect(lines).toEqual(['1', '2', '3'])
})

async function* twoPages() {
  yield [1]
  yield [2]
}

test('a table and JSON are one list of all pages', async () => {
  for (const format of ['table', 'json'] as const) {
    const { terminal, lines } = recorded()

    await printPages(terminal, format, twoPages(), VIEW)

    expect(lines.join('\n')).toBe(format === 'table' ? 'N\n1\n2' : '[\n  1,\n  2\n]')
  }
})
