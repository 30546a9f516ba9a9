import { describe, expect, test } from 'vitest'
import {
  KILLED,
  LIMIT_MS,
  runExample,
  sqliteFile,
  STORES,
  WELL,
} from '../../test/support/example.ts'

const OUTCOMES = ['tea: approved by Kim', 'pencils: approved by rule 7', 'yacht: nobody answered']
const TEA_ASKED = '  mail to the boss: may we pay for the tea?'

describe.concurrent('the example of an approval', { timeout: LIMIT_MS }, () => {
  test.each(STORES)(
    '%s, answers are received, even those that were sent early',
    async (_, open) => {
      using store = open()

      const { lines, ...end } = await runExample('03-approval', store.url)

      expect(end).toEqual(WELL)
      expect(lines.slice(0, -3).toSorted()).toEqual([
        '  mail to the boss: may we pay for a yacht?',
        '  mail to the boss: may we pay for pencils?',
        TEA_ASKED,
      ])
      expect(lines.slice(-3)).toEqual(OUTCOMES)
    },
  )

  test('killed while it waits for an answer, it waits again, and the answer is still there', async () => {
    using store = sqliteFile()

    const killed = await runExample('03-approval', store.url, { dieOn: TEA_ASKED })
    const again = await runExample('03-approval', store.url)

    expect(killed).toMatchObject(KILLED)
    expect(again).toMatchObject(WELL)
    expect(again.lines).toContain(TEA_ASKED)
    expect(again.lines.slice(-3)).toEqual(OUTCOMES)
  })

  test('killed after the tea was approved, it does not ask for tea again', async () => {
    using store = sqliteFile()

    const killed = await runExample('03-approval', store.url, { dieOn: OUTCOMES[0]! })
    const again = await runExample('03-approval', store.url)

    expect(killed).toMatchObject(KILLED)
    expect(again).toMatchObject(WELL)
    expect(again.lines).not.toContain(TEA_ASKED)
    expect(again.lines.slice(-3)).toEqual(OUTCOMES)
  })
})
