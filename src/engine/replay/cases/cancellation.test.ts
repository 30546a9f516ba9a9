/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  cancelled,
  type Code,
  completed,
  instanceWithPast,
  dropped,
  errorOf,
  play,
  post,
  recorded,
  restart,
  STARTED,
  statusOf,
} from '../../../../test/support/executions.ts'
import { CancelledError } from '../../../base/errors.ts'

const charge = activity('charge', (n: number) => n)
const refund = activity('refund', (n: number) => n)

const CHARGE = recorded.activity(1, 'charge', 1)
const chargeOnce: Code = (ctx) => ctx.run(charge, 1)

describe('a cancellation', () => {
  test('ends the instance with its reason [cancel_via_message]', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))
    post(instance, { kind: 'cancel', payload: '"too late"', id: 81 })

    const { events, taken } = await turn(2)

    expect(events).toEqual([cancelled('too late'), dropped(1)])
    expect(taken).toEqual([81])
    expect(statusOf(instance)).toBe('cancelled')
    expect(errorOf(instance)).toBeInstanceOf(CancelledError)
    expect(errorOf(instance)).toMatchObject({ reason: 'too late' })
  })

  test('is replayed from history [cancel_in_history]', async () => {
    const past = instanceWithPast(CHARGE, cancelled('too late'), dropped(1))
    const { instance, turn } = play(chargeOnce, past)

    const { events, issued } = await turn(2)

    expect({ events, issued }).toEqual({ events: [], issued: [] })
    expect(statusOf(instance)).toBe('cancelled')
    expect(errorOf(instance)).toMatchObject({ reason: 'too late' })
  })

  test.each([
    ['a result that comes behind it is ignored', [cancelled(), completed(1, 'paid')], undefined],
    ['code that returns after it has no say', [cancelled()], 'caught'],
  ])(
    'wins over how the code ends: %s [cancel_precedence_over_completion]',
    async (_, arrivals, value) => {
      const code: Code = async (ctx) => {
        try {
          return await ctx.run(charge, 1)
        } catch (error) {
          if (value === undefined) throw error
          return value
        }
      }
      const { instance, turn } = play(code, instanceWithPast(CHARGE))

      const { events } = await turn(2, ...arrivals)

      expect(events).toEqual([cancelled(), dropped(1)])
      expect(statusOf(instance)).toBe('cancelled')
    },
  )

  test('that follows the end of the code in the same turn changes nothing', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))

    const { events } = await turn(2, completed(1, 'paid'), cancelled())

    expect(events).toEqual([completed(1, 'paid')])
    expect(statusOf(instance)).toBe('completed')
  })

  test('cancels pending commands, and lets clean-up continue [cancel_with_pending_activity]', async () => {
    const code: Code = async (ctx) => {
      try {
        await ctx.run(charge, 1)
      } finally {
        await ctx.uncancellable((inner) => inner.run(refund, 1))
      }
    }
    const first = play(code, instanceWithPast(CHARGE))

    const { events, dropped: closed, issued } = await first.turn(2, cancelled('stop'))

    expect(events).toEqual([cancelled('stop'), dropped(1), recorded.activity(2, 'refund', 1)])
    expect(closed).toEqual([1])
    expect(issued.map(({ event }) => event.command)).toEqual([2])
    expect(statusOf(first.instance)).toBe('running')
    const second = restart(code, first)
    await second.turn(3, completed(2))
    expect(statusOf(second.instance)).toBe('cancelled')
  })

  test('counts once [cancel_duplicate_filtered]', async () => {
    const code: Code = (ctx) => ctx.uncancellable((inner) => inner.run(charge, 1))
    const first = play(code)
    await first.turn(1)

    const { events } = await first.turn(2, cancelled('first'), cancelled('second'))
    const second = restart(code, first)
    const later = await second.turn(3, cancelled('third'))

    expect(events).toEqual([cancelled('first')])
    expect(later.events).toEqual([])
    await second.turn(4, completed(1))
    expect(errorOf(second.instance)).toMatchObject({ reason: 'first' })
  })

  test('counts once in history as well', async () => {
    const past = instanceWithPast(CHARGE, cancelled('first'), dropped(1), cancelled('second'))
    const { instance, turn } = play(chargeOnce, past)

    await turn(2)

    expect(errorOf(instance)).toMatchObject({ reason: 'first' })
  })

  test('reaches an instance before its code has run at all', async () => {
    const { instance, turn } = play(chargeOnce)

    const { events, issued } = await turn(1, cancelled())

    expect(events).toEqual([STARTED, CHARGE, cancelled(), dropped(1)])
    expect(issued).toEqual([])
    expect(statusOf(instance)).toBe('cancelled')
  })
})
