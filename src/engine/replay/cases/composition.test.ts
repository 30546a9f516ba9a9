/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  type Code,
  completed,
  instanceWithPast,
  dropped,
  errorOf,
  failed,
  fired,
  play,
  recorded,
  STARTED,
  statusOf,
} from '../../../../test/support/executions.ts'

const charge = activity('charge', (n: number) => n)

const race: Code = (ctx) => ctx.race({ paid: ctx.run(charge, 1), late: ctx.sleep(10) })
const both: Code = (ctx) => ctx.all([ctx.run(charge, 1), ctx.run(charge, 2)])

const RACE = [recorded.activity(1, 'charge', 1), recorded.timer(2, 11)] as const
const BOTH = [recorded.activity(1, 'charge', 1), recorded.activity(2, 'charge', 2)] as const

describe('a race', () => {
  test('is won by the activity whose result arrives first [select2_activity_wins]', async () => {
    const { instance, turn } = play(race, instanceWithPast(...RACE))

    const { events } = await turn(2, completed(1, 'ok'))

    expect(events).toEqual([completed(1, 'ok'), dropped(2)])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: { key: 'paid', value: 'ok' } })
  })

  test('is won by the timer that fires first [select2_timer_wins]', async () => {
    const { instance, turn } = play(race, instanceWithPast(...RACE))

    const { events } = await turn(11)

    expect(events).toEqual([fired(2), dropped(1)])
    expect(instance.run.outcome).toEqual({
      kind: 'returned',
      value: { key: 'late', value: undefined },
    })
  })

  test.each([
    [[completed(1, 'ok'), fired(2)], 'paid'],
    [[fired(2), completed(1, 'ok')], 'late'],
  ])(
    'goes to the one that is first in history, whatever the order of branches',
    async (results, key) => {
      const { instance, turn } = play(race, instanceWithPast(...RACE))

      await turn(5, ...results)

      expect(instance.run.outcome).toMatchObject({ kind: 'returned', value: { key } })
    },
  )

  test('continues while there is no result [select2_both_pending]', async () => {
    const { instance, turn } = play(race, instanceWithPast(...RACE))

    expect((await turn(5)).events).toEqual([])
    expect([...instance.run.open.keys()]).toEqual([1, 2])
    expect(statusOf(instance)).toBe('running')
  })
})

describe('all', () => {
  test('returns its results in the order of the branches [join_all_complete]', async () => {
    const { instance, turn } = play(both, instanceWithPast(...BOTH))

    await turn(2, completed(2, 'second'), completed(1, 'first'))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: ['first', 'second'] })
  })

  test('waits for the rest [join_partial_complete]', async () => {
    const { instance, turn } = play(both, instanceWithPast(...BOTH))

    expect((await turn(2, completed(2))).events).toEqual([completed(2)])
    expect([...instance.run.open.keys()]).toEqual([1])
    expect(statusOf(instance)).toBe('running')
  })

  test('issues all commands at once [join_fresh_schedule]', async () => {
    const { turn } = play(both)

    expect((await turn(1)).events).toEqual([STARTED, ...BOTH])
  })

  test('fails with the first failure, and cancels the rest [join_one_fails]', async () => {
    const { instance, turn } = play(both, instanceWithPast(...BOTH))

    const { events } = await turn(2, failed(2, new Error('declined')))

    expect(events.slice(1)).toEqual([dropped(1)])
    expect(statusOf(instance)).toBe('failed')
    expect(errorOf(instance)).toMatchObject({ message: 'workflow "test" failed: declined' })
  })

  test('of several thousand ends, live and on replay', async () => {
    const numbers = Array.from({ length: 4_000 }, (_, i) => i + 1)
    const code: Code = async (ctx) =>
      (await ctx.all(numbers.map((n) => ctx.run(charge, n)))).reduce((sum, n) => sum + n, 0)
    const commands = numbers.map((n) => recorded.activity(n, 'charge', n))
    const results = numbers.map((n) => completed(n, n))

    const hot = play(code)
    await hot.turn(1)
    await hot.turn(2, ...results.toReversed())
    const cold = play(code, instanceWithPast(...commands, ...results))
    await cold.turn(3)

    expect(hot.instance.run.outcome).toEqual({ kind: 'returned', value: 8_002_000 })
    expect(cold.instance.run.outcome).toEqual(hot.instance.run.outcome)
  })
})
