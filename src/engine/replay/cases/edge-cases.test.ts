/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  beginWith,
  channel,
  type Code,
  completed,
  instanceWithPast,
  fired,
  mail,
  play,
  post,
  received,
  recorded,
  restart,
  STARTED,
  takeTurn,
  turnRow,
} from '../../../../test/support/executions.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string | undefined>('orders')

const CHARGE = recorded.activity(1, 'charge', 1)
const chargeTwice: Code = async (ctx) => [await ctx.run(charge, 1), await ctx.run(charge, 2)]

describe('an edge', () => {
  test('a timer of no length is still a timer [zero_delay_timer]', async () => {
    const { instance, turn } = play((ctx) => ctx.sleep(0))

    expect((await turn(100)).events).toEqual([STARTED, recorded.timer(1, 100)])
    await turn(100, fired(1))
    expect(instance.run.outcome?.kind).toBe('returned')
  })

  test('an activity without input is recorded with none [empty_activity_input]', async () => {
    const ping = activity('ping', async () => 'pong')
    const { instance, turn } = play((ctx) => ctx.run(ping))

    const { events } = await turn(1)
    await turn(2, completed(1, ''))

    expect(events[1]).toEqual(recorded.activity(1, 'ping', undefined))
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: '' })
  })

  test('a result may be large [large_result_string]', async () => {
    const large = 'x'.repeat(2_000_000)
    const { instance, turn } = play((ctx) => ctx.run(charge, 1), instanceWithPast(CHARGE))

    await turn(2, completed(1, large))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: large })
  })

  test('the code is called once, over all turns of an execution [handler_invoked_once]', async () => {
    let calls = 0
    const { turn } = play(async (ctx) => {
      calls++
      return chargeTwice(ctx)
    })

    await turn(1)
    await turn(2, completed(1))
    await turn(3, completed(2))

    expect(calls).toBe(1)
  })

  test('the code is called once on replay [handler_invoked_once_during_replay]', async () => {
    let calls = 0
    const code: Code = async (ctx) => {
      calls++
      return chargeTwice(ctx)
    }
    const second = recorded.activity(2, 'charge', 2)

    await play(code, instanceWithPast(CHARGE, completed(1), second, completed(2))).turn(3)

    expect(calls).toBe(1)
  })

  test.each([[''], [undefined]])(
    'a message may say nothing: %o [empty_external_event_data]',
    async (nothing) => {
      const { instance, turn } = play((ctx) => ctx.receive(orders))
      post(instance, mail('orders', nothing))

      await turn(1)

      expect(instance.run.outcome).toEqual({ kind: 'returned', value: nothing })
    },
  )

  test('of several messages the first is received, the rest stay [multiple_external_events_same_name]', async () => {
    const code: Code = async (ctx) => {
      const first = await ctx.receive(orders)
      await ctx.sleep('1d')
      return first
    }
    const { instance, turn } = play(code)
    post(instance, mail('orders', 'tea'), { ...mail('orders', 'milk'), id: 61 })

    const { events, effects } = await turn(1)

    expect(events.slice(1, 3)).toEqual([recorded.receive(1, 'orders'), received(1, 'tea')])
    expect(effects).toMatchObject({ parked: [61] })
  })

  test('a turn with a result has something to record [made_progress_after_completion]', async () => {
    const { instance, turn } = play(chargeTwice, instanceWithPast(CHARGE))

    const idle = turnRow(instance, (await turn(2)).events)
    const busy = turnRow(instance, (await turn(3, completed(1))).events)

    expect(idle).toBeNull()
    expect(busy).toMatchObject({ count: 2 })
  })

  test('the history and the new turn together are the next history [final_history_combines_baseline_and_delta]', async () => {
    const first = play(chargeTwice, instanceWithPast(CHARGE))
    await first.turn(2, completed(1, 'a'))
    const second = restart(chargeTwice, first)

    await second.turn(3, completed(2, 'b'))

    expect(second.past.flatMap(({ events }) => events)).toEqual([
      STARTED,
      CHARGE,
      completed(1, 'a'),
      recorded.activity(2, 'charge', 2),
      completed(2, 'b'),
    ])
    expect(second.instance.run.outcome).toEqual({ kind: 'returned', value: ['a', 'b'] })
  })

  test('an open timer keeps its recorded time, even when its length has changed', async () => {
    const { turn } = play((ctx) => ctx.sleep('9d'), instanceWithPast(recorded.timer(1, 50)))

    expect((await turn(60)).events).toEqual([fired(1)])
  })
})

describe('numbers', () => {
  test('commands are numbered from 1 on [sequential_allocation]', async () => {
    const code: Code = (ctx) => ctx.all([ctx.run(charge, 1), ctx.sleep(5), ctx.receive(orders)])

    const { events } = await play(code).turn(1)

    expect(events.slice(1)).toMatchObject([{ command: 1 }, { command: 2 }, { command: 3 }])
  })

  test('commands of a replayed history are counted [allocation_after_replay]', async () => {
    const { turn } = play(chargeTwice, instanceWithPast(CHARGE))

    expect((await turn(2, completed(1))).events[1]).toMatchObject({ command: 2 })
  })

  test('events continue after the last recorded one [allocation_with_gaps]', async () => {
    const instance = instanceWithPast(CHARGE)
    instance.recorded({ execution: 1, turn: 1, at: 1, first: 39, count: 2, events: '' })
    instance.inbox.arrive({ event: completed(1) })

    const { events } = await takeTurn(instance, 2, beginWith(chargeTwice))

    expect(turnRow(instance, events)).toMatchObject({ first: 41, count: 2 })
  })

  test('what is carried out has the number that is recorded [pending_actions_have_correct_event_id]', async () => {
    const { turn } = play(chargeTwice, instanceWithPast(CHARGE))

    const { events, issued } = await turn(2, completed(1))

    expect(issued.map(({ event }) => event)).toEqual([events[1]])
    expect(events[1]).toEqual(recorded.activity(2, 'charge', 2))
  })
})
