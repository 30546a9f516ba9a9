import { describe, expect, test } from 'vitest'
import { LIMIT_MS, runExample, sqliteFile, WELL } from '../../test/support/example.ts'

const SAID = [
  'hello? that is question 1',
  'ANSWER ME! not so loud, please',
  'where are you? that is question 3',
  'who are you? that is question 2',
  'goodbye goodbye',
  '6 lines were said, in 5 executions',
]

describe('the example of a chat', { timeout: LIMIT_MS }, () => {
  test('each question gets its answer, in order', async () => {
    const { lines, ...end } = await runExample('07-chat', 'memory:')

    expect(end).toEqual(WELL)
    expect(inOrder(lines)).toEqual(SAID)
  })

  test('run again, it is a new conversation', async () => {
    using store = sqliteFile()

    const killed = await runExample('07-chat', store.url, { dieOn: 'ANSWER ME!' })
    const again = await runExample('07-chat', store.url)
    const third = await runExample('07-chat', store.url)

    expect(killed.signal).toBe('SIGKILL')
    expect(again).toMatchObject(WELL)
    expect(inOrder(again.lines)).toEqual(SAID)
    expect(third).toMatchObject(WELL)
    expect(inOrder(third.lines)).toEqual(SAID)
  })
})

/** The three concurrent requests are answered one after the other, but may print in any order. */
function inOrder(lines: readonly string[]): string[] {
  return [...lines.slice(0, 1), ...lines.slice(1, 4).toSorted(), ...lines.slice(4)]
}
