import { describe, expect, test } from 'vitest'
import { KILLED, LIMIT_MS, runExample, sqliteFile } from '../../test/support/example.ts'

const SENT = ['order-1', 'order-2', 'order-4']
const NOT_TAKEN = 'order-3: not taken, we have none'
const END = ['order-5: dead letter, nothing cursed, please', 'orders: 4']

/** The orders whose messages were sent, sorted, each once. */
function sentIn(lines: readonly string[]): string[] {
  const found = lines.flatMap(
    (line) => /^ {2}(order-\d): sent in attempt \d+$/.exec(line)?.[1] ?? [],
  )
  return [...new Set(found)].toSorted()
}

describe.concurrent('the example of an outbox', { timeout: LIMIT_MS }, () => {
  test('every order is announced, after any number of attempts, and rolled-back orders are not', async () => {
    using store = sqliteFile()

    const { lines, errors, ...end } = await runExample('10-outbox', store.url)

    expect(end).toEqual({ code: 0, signal: null })
    expect(sentIn(lines)).toEqual(SENT)
    expect(lines).toContain(NOT_TAKEN)
    expect(lines).toContain('  order-2: sent in attempt 2')
    expect(lines).toContain('  order-4: sent in attempt 2')
    expect(lines.slice(-2)).toEqual(END)
    // What failed, and what is given up, is in the log.
    expect(errors).toContain('handler failed; the message is retried')
    expect(errors).toContain('message became a dead letter')
  })

  test('killed after one message, it sends the rest on the next start, and none is lost', async () => {
    using store = sqliteFile()

    const killed = await runExample('10-outbox', store.url, { dieOn: 'order-4: taken' })
    const again = await runExample('10-outbox', store.url)

    expect({ ...killed, errors: '' }).toMatchObject(KILLED)
    expect(again).toMatchObject({ code: 0, signal: null })
    expect(again.lines).toContain('order-1: not taken, UNIQUE constraint failed: orders.id')
    expect([...new Set([...sentIn(killed.lines), ...sentIn(again.lines)])].toSorted()).toEqual(SENT)
    expect(again.lines.slice(-2)).toEqual(END)
  })
})
