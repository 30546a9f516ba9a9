/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  channel,
  type Code,
  completed,
  instanceWithPast,
  play,
  recorded,
  stateKey,
  workflow,
} from '../../../../test/support/executions.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const total = stateKey<number>('total')
const sub = workflow('sub', async (n: number) => n)

const CHARGE = recorded.activity(1, 'charge', 1)

describe('commands that the code issues', () => {
  test.each<[string, Code, Event]>([
    [
      'an activity [schedule_activity_creates_activity_scheduled_event]',
      (ctx) => ctx.run(charge, 1),
      {
        type: 'activity',
        command: 1,
        name: 'charge',
        input: '1',
        where: 'local',
        tag: '',
        session: '',
      },
    ],
    [
      'a timer [schedule_timer_creates_timer_created_event]',
      (ctx) => ctx.sleep('2s'),
      { type: 'timer', command: 1, fireAt: 2_100 },
    ],
    [
      'a receive, and until when [schedule_wait_creates_external_subscribed_event]',
      (ctx) => ctx.receive(orders, { timeout: '1s' }),
      { type: 'receive', command: 1, name: 'orders', until: 1_100 },
    ],
    [
      'a child [schedule_sub_orchestration_creates_sub_orchestration_scheduled_event]',
      (ctx) => ctx.run(sub, 1, { id: 'c', onParentClose: 'abandon' }),
      {
        type: 'child',
        command: 1,
        workflow: 'sub',
        version: '',
        id: 'c',
        input: '1',
        options: '{"onParentClose":"abandon"}',
      },
    ],
    [
      'a start [schedule_orchestration_creates_orchestration_chained_event]',
      (ctx) => ctx.start(sub, 1, { id: 's', delay: '1s', onConflict: 'error' }),
      {
        type: 'start',
        command: 1,
        workflow: 'sub',
        version: '',
        id: 's',
        input: '1',
        options: '{"onConflict":"error","delayMs":1000}',
      },
    ],
    [
      'a send',
      (ctx) => ctx.get('other').send(orders, 'tea'),
      { type: 'send', command: 1, id: 'other', name: 'orders', capacity: 10_000, value: '"tea"' },
    ],
    [
      'a look at state',
      (ctx) => ctx.get('other').readState(total),
      { type: 'read', command: 1, id: 'other', key: 'total' },
    ],
  ])('is recorded as it is: %s', async (_, code, event) => {
    const { events, issued } = await play(code).turn(100)

    expect(events.slice(1)).toEqual([event])
    expect(issued.map((command) => command.event)).toEqual([event])
  })

  test('are recorded in order, whatever their kind [multiple_action_types_create_corresponding_events]', async () => {
    const code: Code = (ctx) =>
      ctx.all([
        ctx.run(sub, 1),
        ctx.receive(orders),
        ctx.sleep(5),
        ctx.run(charge, 1),
        ctx.start(sub, 1),
        ctx.step('look', () => 1),
      ])

    const { events } = await play(code).turn(1)

    expect(events.map(({ type }) => type)).toEqual([
      'started',
      'child',
      'receive',
      'timer',
      'activity',
      'start',
      'step',
    ])
  })

  test('are replayed after a start that is not awaited [detached_orchestration_then_activity_replays_correctly]', async () => {
    const code: Code = async (ctx) => {
      ctx.start(sub, 1, { id: 'own' }).catch(() => {})
      return ctx.run(charge, 1)
    }
    const past = [recorded.start(1, 'sub', 1, 'own'), { ...CHARGE, command: 2 }, completed(1)]
    const { instance, turn } = play(code, instanceWithPast(...past))

    const { events, issued } = await turn(2, completed(2, 'paid'))

    expect(events).toEqual([completed(2, 'paid')])
    expect(issued).toEqual([])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'paid' })
  })

  test('may have a result that is never read', async () => {
    const code: Code = async (ctx) => {
      void ctx.run(charge, 1)
      await ctx.run(charge, 2)
      await ctx.run(charge, 3)
    }
    const past = [CHARGE, recorded.activity(2, 'charge', 2), completed(1, 'unseen')]
    const { turn } = play(code, instanceWithPast(...past))

    const { events } = await turn(2, completed(2))

    expect(events).toEqual([completed(2), recorded.activity(3, 'charge', 3)])
  })
})
