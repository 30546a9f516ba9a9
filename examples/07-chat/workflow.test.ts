import { crashEverywhere, openTest } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { chat, say, TooLoud } from './workflow.ts'

describe('a chat', () => {
  test('answers in order, and starts over after each answer', async () => {
    await using t = await openTest({ register: chat })
    const session = await t.start(chat, [])

    expect(await session.request(say, 'who are you?')).toBe('that is question 1')
    await expect(session.request(say, 'ANSWER ME!')).rejects.toThrow(TooLoud)
    expect(await session.request(say, 'where are you?')).toBe('that is question 2')

    const info = await session.info()
    expect(info?.execution).toBe(4)
  })

  test('is over after half an hour of silence', async () => {
    await using t = await openTest({ register: chat })
    const session = await t.start(chat, [])
    await session.request(say, 'hello?')

    await t.advance('29m')
    expect((await session.info())?.status).toBe('running')

    expect(await session.result()).toEqual([
      { from: 'guest', text: 'hello?' },
      { from: 'host', text: 'that is question 1' },
    ])
    expect(t.now()).toEqual(new Date('2030-01-01T00:30:00Z'))
  })

  test('loses no question, whatever crashes', async () => {
    const { runs } = await crashEverywhere(() => ({
      register: chat,
      scenario: async (t) => {
        const session = await t.start(chat, [], { id: 'chat-1' })
        const questions = ['hello?', 'who are you?', 'goodbye']
        const answers = await Promise.all(questions.map((text) => session.request(say, text)))
        return { answers, lines: (await session.result()).length }
      },
      check: ({ answers, lines }) => {
        expect(answers).toEqual(['that is question 1', 'that is question 2', 'goodbye'])
        expect(lines).toBe(4)
      },
    }))

    expect(runs).toBeGreaterThan(5)
  })
})
