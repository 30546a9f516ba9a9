import { describe, expect, test } from 'vitest'
import {
  KILLED,
  LIMIT_MS,
  linesAbout,
  runExample,
  sqliteFile,
  STORES,
  WELL,
} from '../../test/support/example.ts'

const OUTCOMES = [
  expect.stringMatching(/^pay-1: paid, receipt .+$/),
  expect.stringMatching(/^pay-2: paid, receipt .+$/),
  'pay-3: declined, 20 are missing',
  'pay-4: activity "charge" failed after 3 attempts: no route to the bank, ticket for pay-4',
]

// The two payments that fail.
const errors = linesAbout('pay-[34]')

describe.concurrent('the example of retries', { timeout: LIMIT_MS }, () => {
  test.each(STORES)('%s, it retries what may succeed, and nothing else', async (_, open) => {
    using store = open()

    const { lines, ...end } = await runExample('02-retries', store.url)

    expect(end).toEqual({ ...WELL, errors })
    expect(attempts(lines)).toEqual({
      'pay-1': '1',
      'pay-2': '123',
      'pay-3': '1',
      'pay-4': '123',
    })
    expect(outcomes(lines)).toEqual(OUTCOMES)
  })

  test('killed in a second attempt, it keeps its attempt count and charges no card twice', async () => {
    using store = sqliteFile()

    const killed = await runExample('02-retries', store.url, { dieOn: 'pay-2: attempt 2' })
    const second = await runExample('02-retries', store.url)
    const third = await runExample('02-retries', store.url)

    expect(killed).toMatchObject({ ...KILLED, errors: expect.any(String) })
    expect(second).toMatchObject({ ...WELL, errors })
    expect(attempts(second.lines)).toEqual({
      'pay-2': '23',
      // Its second attempt may have been just before the kill, or not.
      'pay-4': expect.stringMatching(/^2?3$/),
    })
    expect(outcomes(second.lines)).toEqual(OUTCOMES)
    expect(third).toMatchObject(WELL)
    expect(third.lines.toSorted()).toEqual(outcomes(second.lines))
  })
})

/** The attempts that were made for each payment, in order. */
function attempts(lines: readonly string[]): Record<string, string> {
  const made: Record<string, string> = {}
  for (const line of lines) {
    const [, id, attempt] = /^ {2}(.+): attempt (\d)$/.exec(line) ?? []
    if (id !== undefined) made[id] = `${made[id] ?? ''}${attempt}`
  }
  return made
}

function outcomes(lines: readonly string[]): string[] {
  return lines.filter((line) => !line.startsWith(' ')).toSorted()
}
