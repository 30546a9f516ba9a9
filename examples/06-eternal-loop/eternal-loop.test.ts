import { describe, expect, test } from 'vitest'
import { KILLED, LIMIT_MS, runExample, sqliteFile, WELL } from '../../test/support/example.ts'

describe.concurrent('the example of an eternal loop', { timeout: LIMIT_MS }, () => {
  test('its state and progress survive continue-as-new', async () => {
    const { lines, ...end } = await runExample('06-eternal-loop', 'memory:')

    expect(end).toEqual(WELL)
    expect(lines[0]).toMatch(/^running, execution 1, /)
    expectTheEnd(lines)
  })

  test('killed in its second execution, it continues there', async () => {
    using store = sqliteFile()

    const killed = await runExample('06-eternal-loop', store.url, { dieOn: 'execution 2' })
    const again = await runExample('06-eternal-loop', store.url)

    expect(killed).toMatchObject(KILLED)
    expect(again).toMatchObject(WELL)
    // Four rounds make an execution: the first round that is seen again is after those.
    expect(again.lines[0]).toMatch(/^running, execution [2-9], round ([4-9]|\d\d): (up|down)$/)
    expectTheEnd(again.lines)
  })
})

/** The site went down once, over the end of an execution; the watch was stopped in a later one. */
function expectTheEnd(lines: readonly string[]): void {
  const rounds = lines.flatMap((line) => /round (\d+)/.exec(line)?.[1] ?? []).map(Number)
  expect(rounds).toEqual(rounds.toSorted((a, b) => a - b))
  const [last, outages, events, ended] = lines.slice(-4)
  expect(last).toMatch(/^cancelled, execution [3-9], round ([89]|\d\d): up$/)
  expect(outages).toBe('outages: 1')
  // A round leaves five: all that was ever done would be more than forty.
  const count = /^events in the history of the last execution: (\d+)$/.exec(events ?? '')?.[1]
  expect(Number(count)).toBeLessThan(30)
  expect(ended).toBe('ended: seen enough')
}
