import { expect, test } from 'vitest'

import { virtualClock } from '../../testing/virtual-clock.ts'
import { untilIdle } from './until-idle.ts'

/** A runtime that answers from lists, and the last answer from then on. */
function answering(quiet: readonly boolean[], nothingDue: readonly boolean[]) {
  const clock = virtualClock()
  const asked: string[] = []
  const next = (answers: readonly boolean[], what: string): boolean => {
    const count = asked.filter((one) => one === what).length
    asked.push(what)
    return answers[count] ?? answers.at(-1)!
  }
  const host = {
    clock,
    isQuiet: () => next(quiet, 'quiet'),
    hasNothingDue: async () => next(nothingDue, 'due'),
  }
  return { clock, asked, host }
}

test('it resolves at once when nothing runs and nothing is due', async () => {
  const { clock, host, asked } = answering([true], [true])

  await untilIdle(host, undefined)

  expect([clock.now(), asked]).toEqual([0, ['quiet', 'due', 'quiet']])
})

test('the store is not asked while something runs', async () => {
  const { clock, host, asked } = answering([false, false, true], [true])

  await clock.until(untilIdle(host, undefined))

  expect(asked).toEqual(['quiet', 'quiet', 'quiet', 'due', 'quiet'])
})

test('it waits for work that the store has', async () => {
  const { clock, host, asked } = answering([true], [false, false, true])

  await clock.until(untilIdle(host, undefined))

  expect(asked.filter((what) => what === 'due')).toHaveLength(3)
})

test('it waits for work that arrived while the store was asked', async () => {
  const { clock, host, asked } = answering([true, false, false, true], [true])

  await clock.until(untilIdle(host, undefined))

  expect(asked.filter((what) => what === 'due')).toHaveLength(2)
})

test('a signal ends the wait, also one that was aborted before', async () => {
  const { clock, host } = answering([false], [true])
  const controller = new AbortController()
  const waiting = untilIdle(host, controller.signal)
  clock.after(12, () => controller.abort(new Error('enough')))

  await expect(clock.until(waiting)).rejects.toThrow('enough')
  await expect(untilIdle(host, controller.signal)).rejects.toThrow('enough')

  expect(clock.pending).toBe(0)
})
