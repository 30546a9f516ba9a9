import { crashEverywhere, openTest, stubStep } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { answers, approve } from './workflow.ts'

const DAY_MS = 86_400_000
const bill = { what: 'the tea', patience: 30 * DAY_MS }
const ask = (): ReturnType<typeof stubStep> => stubStep('ask', () => {})

describe('an approval', () => {
  test('comes after weeks', async () => {
    await using t = await openTest({ register: approve, stubs: [ask()] })
    const tea = await t.start(approve, bill)

    await t.advance('29d')
    await tea.send(answers, { by: 'Kim', yes: false })

    expect(await tea.result()).toBe('refused by Kim')
  })

  test('that does not come is given up after thirty days, not before', async () => {
    await using t = await openTest({ register: approve, stubs: [ask()] })
    const tea = await t.start(approve, bill)

    await t.advance(30 * DAY_MS - 1)
    expect((await tea.info())?.status).toBe('running')
    await t.advance(1)

    expect(await tea.result()).toBe('nobody answered')
  })

  test('is not lost, whatever crashes, and asked for at most twice', async () => {
    await crashEverywhere(() => {
      let asked = 0
      return {
        register: approve,
        stubs: [stubStep('ask', () => void asked++)],
        scenario: async (t) => {
          const tea = await t.start(approve, bill, { id: 'tea' })
          await tea.send(answers, { by: 'Kim', yes: true }, { dedupeKey: 'click' })
          await tea.send(answers, { by: 'Lou', yes: false }, { dedupeKey: 'click' })
          return tea.result()
        },
        check: (result) => {
          expect(result).toBe('approved by Kim')
          expect(asked).toBeLessThanOrEqual(2)
        },
      }
    })
  })
})
