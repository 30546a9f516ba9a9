import { describe, expect, test } from 'vitest'
import { KILLED, LIMIT_MS, runExample, sqliteFile, WELL } from '../../test/support/example.ts'

const SENT = ['cellar', 'garage', 'garden', 'hall', 'kitchen', 'roof', 'shed']
const END = ['given up: attic, Refused: no such sensor', 'left to send: 0']

/** The sensors whose readings were sent, sorted. */
function sentIn(lines: readonly string[]): string[] {
  return lines
    .flatMap((line) => /^sent (\w+) in attempt \d+$/.exec(line)?.[1] ?? [])
    .toSorted((a, b) => a.localeCompare(b))
}

describe('the example of a spool', { timeout: LIMIT_MS }, () => {
  test('it sends everything that the server ever accepts, and keeps the rest', async () => {
    using file = sqliteFile()

    const { lines, ...end } = await runExample('queue-spool', file.url.slice('file:'.length))

    expect(end).toEqual(WELL)
    expect(lines.filter((line) => line.startsWith('spooled'))).toHaveLength(8)
    expect(sentIn(lines)).toEqual(SENT)
    expect(lines.some((line) => / in attempt [2-9]$/.test(line))).toBe(true)
    expect(lines.slice(-2)).toEqual(END)
  })

  test('killed half-way, it sends the rest on the next start', async () => {
    using file = sqliteFile()
    const path = file.url.slice('file:'.length)

    const killed = await runExample('queue-spool', path, { dieOn: 'sent hall' })
    const second = await runExample('queue-spool', path)

    expect(killed).toMatchObject(KILLED)
    expect(second).toMatchObject(WELL)
    expect(second.lines.slice(-2)).toEqual(END)
    expect([...new Set([...sentIn(killed.lines), ...sentIn(second.lines)])].toSorted()).toEqual(
      SENT,
    )
  })
})
