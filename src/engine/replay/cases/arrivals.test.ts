/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  channel,
  type Code,
  completed,
  instanceWithPast,
  failed,
  fired,
  mail,
  play,
  post,
  received,
  recorded,
  workflow,
} from '../../../../test/support/executions.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => `${n}`)

const CHARGE = recorded.activity(1, 'charge', 1)
const chargeOnce: Code = (ctx) => ctx.run(charge, 1)

describe('what arrives', () => {
  test('is recorded in the turn that takes it: a result [activity_completed_message]', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))

    expect((await turn(2, completed(1, 'paid'))).events).toEqual([completed(1, 'paid')])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'paid' })
  })

  test('is recorded in the turn that takes it: a timer [timer_fired_message]', async () => {
    const { turn } = play((ctx) => ctx.sleep(49), instanceWithPast(recorded.timer(1, 50)))

    expect((await turn(50)).events).toEqual([fired(1)])
  })

  test('is recorded in the turn that takes it: a message [external_raised_message]', async () => {
    const code: Code = (ctx) => ctx.receive(orders)
    const { instance, turn } = play(code, instanceWithPast(recorded.receive(1, 'orders')))
    post(instance, { ...mail('orders', 'tea'), id: 71 })

    const { events, taken } = await turn(2)

    expect(events).toEqual([received(1, 'tea')])
    expect(taken).toEqual([71])
  })

  test('is recorded in the turn that takes it: the result of a child [sub_orch_completed_message]', async () => {
    const { instance, turn } = play(
      (ctx) => ctx.run(sub, 1),
      instanceWithPast(recorded.child(1, 'sub', 1)),
    )
    post(instance, { kind: 'completed', execution: 1, command: 1, payload: '"one"', id: 72 })

    const { events, taken } = await turn(2)

    expect(events).toEqual([completed(1, 'one')])
    expect(taken).toEqual([72])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'one' })
  })

  test('is dropped when history has a result for it [duplicate_completion_filtered]', async () => {
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1)
      return ctx.sleep('1d')
    }
    const past = instanceWithPast(CHARGE, completed(1, 'paid'), recorded.timer(2, 9_999))
    const { turn } = play(code, past)

    expect((await turn(2, completed(1, 'paid'))).events).toEqual([])
  })

  test('counts once in one turn, and the first counts [duplicate_in_same_batch]', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))

    const { events } = await turn(2, completed(1, 'paid'), failed(1, new Error('declined')))

    expect(events).toEqual([completed(1, 'paid')])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'paid' })
  })

  test('is left out when it is for another execution [wrong_execution_filtered]', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))
    post(instance, { kind: 'completed', execution: 2, command: 1, payload: '"later"' })

    expect((await turn(2)).events).toEqual([])
    expect([...instance.run.open.keys()]).toEqual([1])
  })

  test('stays in the inbox, parked, while no receive waits for it [external_without_subscription]', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))
    post(instance, { ...mail('orders', 'tea'), id: 73 })

    const { events, taken, effects } = await turn(2)

    expect({ events, taken }).toEqual({ events: [], taken: [] })
    expect(effects).toMatchObject({ parked: [73] })
  })

  test('is applied in the order of arrival [multiple_completions_batch]', async () => {
    const seen: unknown[] = []
    const code: Code = async (ctx) => {
      const note = (n: number) => async () => seen.push(await ctx.run(charge, n))
      return ctx.all([note(1), note(2)])
    }
    const { instance, turn } = play(code)
    await turn(1)

    const { events } = await turn(2, completed(2, 'b'), completed(1, 'a'))

    expect(events).toEqual([completed(2, 'b'), completed(1, 'a')])
    expect(seen).toEqual(['b', 'a'])
    expect(instance.run.outcome?.kind).toBe('returned')
  })

  const twoOrders: Code = async (ctx) => [await ctx.receive(orders), await ctx.receive(orders)]

  test('is delivered twice when it was sent twice [duplicate_external_events_in_batch_are_kept]', async () => {
    const { instance, turn } = play(twoOrders, instanceWithPast(recorded.receive(1, 'orders')))
    post(instance, mail('orders', 'tea'), mail('orders', 'tea'))

    const { events } = await turn(2)

    expect(events).toEqual([received(1, 'tea'), recorded.receive(2, 'orders'), received(2, 'tea')])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: ['tea', 'tea'] })
  })

  test('is delivered even when history has an equal message [duplicate_external_event_in_history_is_kept]', async () => {
    const past = [
      recorded.receive(1, 'orders'),
      received(1, 'tea'),
      recorded.receive(2, 'orders'),
    ] as const
    const { instance, turn } = play(twoOrders, instanceWithPast(...past))
    post(instance, mail('orders', 'tea'))

    expect((await turn(2)).events).toEqual([received(2, 'tea')])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: ['tea', 'tea'] })
  })
})
