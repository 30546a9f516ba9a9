import { describe, expect, test } from 'vitest'
import { KILLED, LIMIT_MS, runExample, sqliteFile } from '../../test/support/example.ts'

const ENDS = [
  'audit [["ada",700],["ada",-200],["ben",-700],["ben",200]]',
  'balances [["ada",500],["ben",-500]]',
  'dead: Error: no account unknown',
]

describe.concurrent('the example of an audit trail', { timeout: LIMIT_MS }, () => {
  test('each change is in the audit trail once, and failed changes are not in it', async () => {
    using store = sqliteFile()

    const { lines, errors, ...end } = await runExample('11-audit', store.url)

    expect(end).toEqual({ code: 0, signal: null })
    expect(lines.slice(-ENDS.length)).toEqual(ENDS)
    expect(lines.filter((line) => line.startsWith('  '))).toHaveLength(4)
    expect(errors).toContain('message became a dead letter')
  })

  test('killed inside a handler, before the commit, it still writes each change exactly once', async () => {
    using store = sqliteFile()

    const killed = await runExample('11-audit', store.url, { dieOn: '  ben: change' })
    const again = await runExample('11-audit', store.url)

    expect({ ...killed, errors: '' }).toMatchObject(KILLED)
    expect(again.lines.slice(-ENDS.length)).toEqual(ENDS)
  })
})
