/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  channel,
  type Code,
  dropped,
  errorOf,
  play,
  recorded,
  STARTED,
  statusOf,
  workflow,
  WorkflowError,
} from '../../../../test/support/executions.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => n)

describe('the first turn', () => {
  test('code that returns at once completes without a command [immediate_return_ok]', async () => {
    const { instance, turn } = play(async () => 'done')

    const { events, issued } = await turn(1)

    expect(events).toEqual([STARTED])
    expect(issued).toEqual([])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'done' })
    expect(statusOf(instance)).toBe('completed')
  })

  test('code that throws at once fails with its error as the cause [immediate_return_err]', async () => {
    const { instance, turn } = play(async () => {
      throw new RangeError('no stock')
    })

    await turn(1)

    expect(statusOf(instance)).toBe('failed')
    expect(errorOf(instance)).toBeInstanceOf(WorkflowError)
    expect(errorOf(instance)).toMatchObject({
      message: 'workflow "test" failed: no stock',
      originalName: 'RangeError',
    })
  })

  test.each<[string, Code, Event]>([
    [
      'an activity [schedule_activity_pending]',
      (ctx) => ctx.run(charge, 1),
      recorded.activity(1, 'charge', 1),
    ],
    ['a timer [schedule_timer_pending]', (ctx) => ctx.sleep(5), recorded.timer(1, 105)],
    [
      'a message [schedule_external_pending]',
      (ctx) => ctx.receive(orders),
      recorded.receive(1, 'orders'),
    ],
    ['a child [schedule_sub_orch_pending]', (ctx) => ctx.run(sub, 1), recorded.child(1, 'sub', 1)],
  ])('code waits for %s', async (_, code, event) => {
    const { instance, turn } = play(code)

    const { events, issued } = await turn(100)

    expect(events).toEqual([STARTED, event])
    expect(issued.map((command) => command.event)).toEqual([event])
    expect(statusOf(instance)).toBe('running')
  })

  test('the next execution starts with its input [continue_as_new]', async () => {
    const { instance, turn } = play((ctx) => ctx.continueAsNew({ page: 2 } as never))

    const { events, issued } = await turn(1)

    expect(events).toEqual([STARTED])
    expect(issued).toEqual([])
    expect(instance.run.outcome).toEqual({
      kind: 'continued',
      input: '{"page":2}',
      version: undefined,
    })
    expect(statusOf(instance)).toBe('continued')
  })

  test('a child from earlier in the turn is cancelled before it starts [sub_orch_then_continue_as_new]', async () => {
    const { instance, turn } = play(async (ctx) => {
      void ctx.run(sub, 1)
      await ctx.continueAsNew(2 as never)
    })

    const { events, issued } = await turn(1)

    expect(events).toEqual([STARTED, recorded.child(1, 'sub', 1), dropped(1)])
    expect(issued).toEqual([])
    expect(statusOf(instance)).toBe('continued')
  })

  test('commands that are not awaited are recorded, and cancelled at the end [multiple_schedules_no_await]', async () => {
    const { instance, turn } = play(async (ctx) => {
      void ctx.run(charge, 1)
      void ctx.sleep('1d')
      ctx.receive(orders).catch(() => {})
      return 'done'
    })

    const { events, issued } = await turn(0)

    expect(events).toEqual([
      STARTED,
      recorded.activity(1, 'charge', 1),
      recorded.timer(2, 86_400_000),
      recorded.receive(3, 'orders'),
      dropped(1),
      dropped(2),
      dropped(3),
    ])
    expect(issued).toEqual([])
    expect(statusOf(instance)).toBe('completed')
  })
})
