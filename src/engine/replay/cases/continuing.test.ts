/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  cancelled,
  channel,
  type Code,
  completed,
  instanceWithPast,
  mail,
  nextExecution,
  play,
  post,
  received,
  recorded,
  restart,
  stateKey,
  statusOf,
} from '../../../../test/support/executions.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const count = stateKey<number>('count')

const CHARGE = recorded.activity(1, 'charge', 1)

const chargeThenContinue: Code = async (ctx) => {
  await ctx.run(charge, 1)
  return ctx.continueAsNew(2 as never)
}

describe('an execution that calls continueAsNew', () => {
  test('leaves unreceived messages to the next one, in order', async () => {
    const code: Code = async (ctx) => {
      const order = await ctx.receive(orders)
      return ctx.info.execution === 1 ? ctx.continueAsNew(null as never) : order
    }
    const first = play(code)
    post(first.instance, mail('orders', 'a'), mail('orders', 'b'))
    const { taken } = await first.turn(1)
    const second = play(code, nextExecution(first.instance))
    post(second.instance, mail('orders', 'b'))

    const { events } = await second.turn(2)

    expect(taken).toHaveLength(1)
    expect(first.instance.inbox.messages).toHaveLength(1)
    expect(events.at(-1)).toEqual(received(1, 'b'))
  })

  test('does so again on replay', async () => {
    const first = play(chargeThenContinue)
    await first.turn(1)
    await first.turn(2, completed(1))
    const second = restart(chargeThenContinue, first)

    const { events, issued } = await second.turn(3)

    expect({ events, issued }).toEqual({ events: [], issued: [] })
    expect(second.instance.run.outcome).toEqual(first.instance.run.outcome)
  })

  test('is cancelled by a cancellation that comes before', async () => {
    const { instance, turn } = play(chargeThenContinue, instanceWithPast(CHARGE))

    await turn(2, cancelled('stop'), completed(1))

    expect(statusOf(instance)).toBe('cancelled')
  })

  test('never loses a cancellation that comes with its last result', async () => {
    const { instance, turn } = play(chargeThenContinue, instanceWithPast(CHARGE))
    post(instance, { kind: 'completed', execution: 1, command: 1 })
    post(instance, { kind: 'cancel', payload: '"stop"', id: 51 })

    const { taken } = await turn(2)

    const waits = !taken.includes(51)
    expect(waits || statusOf(instance) === 'cancelled').toBe(true)
  })

  test('does not pass on state that was set after its end', async () => {
    const { instance, turn } = play(async (ctx) => {
      void ctx.continueAsNew(2 as never)
      ctx.state.set(count, 1)
    })

    const { events } = await turn(1)

    expect(events).toHaveLength(1)
    expect(instance.writeState()).toBe('')
  })
})
