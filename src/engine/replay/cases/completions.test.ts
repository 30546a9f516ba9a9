/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  channel,
  type Code,
  completed,
  instanceWithPast,
  errorOf,
  failed,
  fired,
  play,
  received,
  recorded,
  restart,
  STARTED,
  statusOf,
  workflow,
} from '../../../../test/support/executions.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const ship = activity('ship', (n: number) => n)
const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => `${n}`)

const CHARGE = recorded.activity(1, 'charge', 1)

describe('a history with every result', () => {
  test.each<[string, Code, Event[], unknown]>([
    [
      'of an activity [activity_completed_in_history]',
      (ctx) => ctx.run(charge, 1),
      [CHARGE, completed(1, 'paid')],
      'paid',
    ],
    [
      'of a timer [timer_fired_in_history]',
      (ctx) => ctx.sleep(5).then(() => 'awake'),
      [recorded.timer(1, 6), fired(1)],
      'awake',
    ],
    [
      'of a receive [external_received_in_history]',
      (ctx) => ctx.receive(orders),
      [recorded.receive(1, 'orders'), received(1, 'tea')],
      'tea',
    ],
    [
      'of a child [sub_orch_completed_in_history]',
      (ctx) => ctx.run(sub, 1),
      [recorded.child(1, 'sub', 1), completed(1, 'one')],
      'one',
    ],
  ])('leads to the end without anything new: %s', async (_, code, events, value) => {
    const { instance, turn } = play(code, instanceWithPast(...events))

    const result = await turn(9)

    expect(result).toEqual({ events: [], issued: [], taken: [], dropped: [], effects: null })
    expect(instance.run.outcome).toEqual({ kind: 'returned', value })
    expect(statusOf(instance)).toBe('completed')
  })

  test('a recorded failure fails code that does not catch it [activity_failed_in_history]', async () => {
    const past = instanceWithPast(CHARGE, failed(1, new RangeError('declined')))
    const { instance, turn } = play((ctx) => ctx.run(charge, 1), past)

    const { events, issued } = await turn(9)

    expect({ events, issued }).toEqual({ events: [], issued: [] })
    expect(statusOf(instance)).toBe('failed')
    expect(errorOf(instance)).toMatchObject({ message: 'workflow "test" failed: declined' })
  })
})

describe('a history that lacks a result', () => {
  test.each<[string, Code, Event]>([
    ['of an activity [activity_scheduled_no_completion]', (ctx) => ctx.run(charge, 1), CHARGE],
    ['of a timer [timer_created_no_fire]', (ctx) => ctx.sleep('1d'), recorded.timer(1, 9_999)],
    [
      'of a receive [external_subscribed_no_event]',
      (ctx) => ctx.receive(orders),
      recorded.receive(1, 'orders'),
    ],
    [
      'of a child [sub_orch_scheduled_no_completion]',
      (ctx) => ctx.run(sub, 1),
      recorded.child(1, 'sub', 1),
    ],
  ])('is waited for again, and nothing is recorded: %s', async (_, code, event) => {
    const { instance, turn } = play(code, instanceWithPast(event))

    const { events } = await turn(9)

    expect(events).toEqual([])
    expect([...instance.run.open.values()].map((issued) => issued.event.type)).toEqual([event.type])
    expect(statusOf(instance)).toBe('running')
  })
})

describe('one thing after the other', () => {
  const chargeThenShip: Code = async (ctx) => {
    const paid = await ctx.run(charge, 1)
    return [paid, await ctx.run(ship, 2)]
  }

  test('the second activity is new when the first is done [two_activities_first_done]', async () => {
    const { instance, turn } = play(chargeThenShip, instanceWithPast(CHARGE, completed(1, 'paid')))

    const { events, issued } = await turn(9)

    expect(events).toEqual([recorded.activity(2, 'ship', 2)])
    expect(issued.map(({ event }) => event.command)).toEqual([2])
    expect(statusOf(instance)).toBe('running')
  })

  test('with both done the code has ended [two_activities_both_done]', async () => {
    const past = instanceWithPast(
      CHARGE,
      completed(1, 'paid'),
      recorded.activity(2, 'ship', 2),
      completed(2, 'sent'),
    )
    const { instance, turn } = play(chargeThenShip, past)

    expect((await turn(9)).events).toEqual([])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: ['paid', 'sent'] })
  })

  test.each([
    [completed(1, 'first'), completed(2, 'second')],
    [completed(2, 'second'), completed(1, 'first')],
  ])(
    'equal activities get their results by number [identical_activities_both_done_routes_correctly]',
    async (...results) => {
      const past = instanceWithPast(CHARGE, recorded.activity(2, 'charge', 1), ...results)
      const { instance, turn } = play(
        (ctx) => ctx.all([ctx.run(charge, 1), ctx.run(charge, 1)]),
        past,
      )

      await turn(9)

      expect(instance.run.outcome).toEqual({ kind: 'returned', value: ['first', 'second'] })
    },
  )

  test('even when each turn is taken by another process [identical_activities_routes_correctly_across_restart_boundary]', async () => {
    const code: Code = async (ctx) => {
      const both = [ctx.run(charge, 1), ctx.run(charge, 1)] as const
      return [await both[0], await both[1], await ctx.run(charge, 1)]
    }
    const first = play(code)
    await first.turn(1)
    const second = restart(code, first)
    await second.turn(2, completed(2, 'second'))
    const third = restart(code, second)
    await third.turn(3, completed(1, 'first'))
    const last = restart(code, third)

    await last.turn(4, completed(3, 'third'))

    expect(last.instance.run.outcome).toEqual({
      kind: 'returned',
      value: ['first', 'second', 'third'],
    })
  })

  test('a timer follows an activity, counted from the turn that sets it [activity_then_timer]', async () => {
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1)
      await ctx.sleep(10)
    }
    const { turn } = play(code, instanceWithPast(CHARGE))

    const { events } = await turn(500, completed(1))

    expect(events).toEqual([completed(1), recorded.timer(2, 510)])
  })

  test('an activity follows a timer [timer_then_activity]', async () => {
    const code: Code = async (ctx) => {
      await ctx.sleep(10)
      await ctx.run(ship, 2)
    }
    const { turn } = play(code, instanceWithPast(recorded.timer(1, 11)))

    const { events } = await turn(12)

    expect(events).toEqual([fired(1), recorded.activity(2, 'ship', 2)])
  })

  test('ten activities take ten results, over as many restarts [many_sequential_activities]', async () => {
    const code: Code = async (ctx) => {
      const seen: unknown[] = []
      for (let i = 1; i <= 10; i++) seen.push(await ctx.run(charge, i))
      return seen
    }
    let player = play(code)
    await player.turn(1)

    for (let i = 1; i <= 10; i++) {
      player = restart(code, player)
      await player.turn(i + 1, completed(i, i * i))
    }

    const { outcome } = player.instance.run
    expect(outcome).toEqual({ kind: 'returned', value: [1, 4, 9, 16, 25, 36, 49, 64, 81, 100] })
    expect(player.past.flatMap(({ events }) => events)).toHaveLength([STARTED].length + 20)
  })
})
