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
  play,
  recorded,
  received,
  refusal,
  workflow,
} from '../../../../test/support/executions.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const ship = activity('ship', (n: number) => n)
const orders = channel<string>('orders')
const complaints = channel<string>('complaints')
const sub = workflow('sub', async (n: number) => n)

const CHARGE = recorded.activity(1, 'charge', 1)
const TIMER = recorded.timer(1, 6)
const RECEIVE = recorded.receive(1, 'orders')
const CHILD = recorded.child(1, 'sub', 1)
const START = recorded.start(1, 'sub', 1, 'other')

const chargeOnce: Code = (ctx) => ctx.run(charge, 1)
const sleepOnce: Code = (ctx) => ctx.sleep(5)
const receiveOnce: Code = (ctx) => ctx.receive(orders)
const childOnce: Code = (ctx) => ctx.run(sub, 1)

describe('code that issues another command than before', () => {
  test.each<[string, Code, Event, string]>([
    [
      'a timer for an activity [schedule_mismatch_activity_vs_timer]',
      sleepOnce,
      CHARGE,
      'command 1 was activity "charge" with input 1, but the code now asks for a timer',
    ],
    [
      'an activity for a timer [schedule_mismatch_timer_vs_activity]',
      chargeOnce,
      TIMER,
      'command 1 was a timer, but the code now asks for activity "charge" with input 1',
    ],
    [
      'another activity [schedule_mismatch_wrong_activity_name]',
      (ctx) => ctx.run(ship, 1),
      CHARGE,
      'command 1 was activity "charge" with input 1, but the code now asks for activity "ship" with input 1',
    ],
    [
      'another input [schedule_mismatch_wrong_input]',
      (ctx) => ctx.run(charge, 2),
      CHARGE,
      'command 1 was activity "charge" with input 1, but the code now asks for activity "charge" with input 2',
    ],
    [
      'another channel [schedule_mismatch_wrong_external_name]',
      (ctx) => ctx.receive(complaints),
      RECEIVE,
      'command 1 was receive on channel "orders", but the code now asks for receive on channel "complaints"',
    ],
    [
      'nothing: it ends earlier than its history [history_schedule_no_emitted_action]',
      async () => 'done',
      CHARGE,
      'command 1 was activity "charge" with input 1, but the code now returns',
    ],
    [
      'nothing for a start of its own [orchestration_chained_no_matching_action]',
      sleepOnce,
      START,
      'command 1 was start of workflow "sub" with input 1, but the code now asks for a timer',
    ],
    [
      'another workflow to be started [orchestration_chained_name_mismatch]',
      (ctx) => ctx.start(workflow<number, number>('another'), 1, { id: 'other' }),
      START,
      'command 1 was start of workflow "sub" with input 1, but the code now asks for start of workflow "another" with input 1',
    ],
    [
      'another id to be started under',
      (ctx) => ctx.start(sub, 1, { id: 'renamed' }),
      START,
      'command 1 was start of workflow "sub" with input 1, but the code now asks for start of workflow "sub" with input 1',
    ],
    [
      'another child',
      (ctx) => ctx.run(workflow<number, number>('another'), 1),
      CHILD,
      'command 1 was child workflow "sub" with input 1, but the code now asks for child workflow "another" with input 1',
    ],
    [
      'another input of a child',
      (ctx) => ctx.run(sub, 2),
      CHILD,
      'command 1 was child workflow "sub" with input 1, but the code now asks for child workflow "sub" with input 2',
    ],
    [
      'another instance to send to',
      (ctx) => ctx.get('b').send(orders, 'tea'),
      { type: 'send', command: 1, id: 'a', name: 'orders', capacity: 1, value: '"tea"' },
      'command 1 was send to "a" on channel "orders", but the code now asks for send to "b" on channel "orders"',
    ],
    [
      'a child for an activity',
      childOnce,
      CHARGE,
      'command 1 was activity "charge" with input 1, but the code now asks for child workflow "sub" with input 1',
    ],
  ])('is found: %s', async (_, code, event, message) => {
    expect((await refusal(code, event)).message).toBe(message)
  })
})

describe('a result that arrives without an open command', () => {
  test('is ignored: it came too late [completion_without_schedule]', async () => {
    const { instance, turn } = play(chargeOnce, instanceWithPast(CHARGE))

    expect((await turn(2, completed(9, 'whose?'))).events).toEqual([])
    expect([...instance.run.open.keys()]).toEqual([1])
  })
})

describe('a result of the wrong kind in history', () => {
  test.each<[string, Code, Event, Event]>([
    ['a result for a timer [completion_kind_mismatch]', sleepOnce, TIMER, completed(1)],
    [
      'a result for a timer, recorded long ago [activity_completed_for_timer_in_history]',
      sleepOnce,
      TIMER,
      failed(1, new Error('x')),
    ],
    [
      'a fired timer for an activity [timer_completion_for_activity_schedule]',
      chargeOnce,
      CHARGE,
      fired(1),
    ],
    [
      'a fired timer for a child [timer_completion_for_sub_orch_schedule]',
      childOnce,
      CHILD,
      fired(1),
    ],
    [
      'a message for an activity [sub_orch_completion_for_activity_schedule]',
      chargeOnce,
      CHARGE,
      received(1, 'tea'),
    ],
    [
      'a message for a timer [sub_orch_completion_for_timer_schedule]',
      sleepOnce,
      TIMER,
      received(1, 'tea'),
    ],
    ['a result for a receive', receiveOnce, RECEIVE, completed(1)],
    ['an end of waiting for a receive that has none', receiveOnce, RECEIVE, fired(1)],
  ])('is found: %s', async (_, code, command, input) => {
    expect((await refusal(code, command, input)).position).toBe(1)
  })
})

describe('a second result in history', () => {
  test.each<[string, Code, Event, Event, Event]>([
    [
      'of an activity [activity_completion_for_closed_schedule]',
      chargeOnce,
      CHARGE,
      completed(1),
      completed(1),
    ],
    [
      'of an activity that failed [activity_failed_for_closed_schedule]',
      chargeOnce,
      CHARGE,
      completed(1),
      failed(1, new Error('x')),
    ],
    ['of a timer [timer_completion_for_closed_schedule]', sleepOnce, TIMER, fired(1), fired(1)],
    [
      'of a child [sub_orch_completion_for_closed_schedule]',
      childOnce,
      CHILD,
      completed(1),
      completed(1),
    ],
    [
      'of a child that failed [sub_orch_failed_for_closed_schedule]',
      childOnce,
      CHILD,
      completed(1),
      failed(1, new Error('x')),
    ],
  ])('is found: %s', async (_, once, command, first, second) => {
    const code: Code = async (ctx) => {
      await once(ctx)
      await ctx.sleep('1d')
    }

    const error = await refusal(code, command, first, recorded.timer(2, 9_999), second)

    expect(error.message).toBe(`${second.type} for command 1, which is not open`)
  })
})
